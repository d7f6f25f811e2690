import { expect, test } from 'vitest';
import { SNIPPETS } from './snippets.ts';

const submission = { language: 'bash', code: `echo 'a' "b"\n`, reproducible: true };

function textOf(name: string): string {
  return SNIPPETS.find((snippet) => snippet.name === name)?.textOf(submission, 'https://box.example') ?? '';
}

test('the Python snippet runs the submission with the client library and waits for the result', () => {
  expect(textOf('Python').split('\n')).toEqual([
    'import json',
    'import os',
    '',
    'from vouchbox import Client',
    '',
    String.raw`submission = json.loads("{\"language\":\"bash\",\"code\":\"echo 'a' \\\"b\\\"\\n\",\"reproducible\":true}")`,
    'with Client("https://box.example", os.environ["SERVICE_KEY"]) as client:',
    '    result = client.run(submission)',
    '    print(result.status, result.exit_code, result.stdout)',
    '',
  ]);
});

test('the curl snippet explains an answer that has no result yet, and prints errors', () => {
  const text = textOf('curl');
  expect(text).toContain('# https://box.example/v1/jobs/JOB_ID/result?wait_seconds=30\n');
  expect(text).toContain("curl -sS 'https://box.example/v1/jobs?wait_seconds=30' \\\n");
  expect(text).toContain(String.raw`"code":"echo '\''a'\'' \"b\"\n"`);
});
