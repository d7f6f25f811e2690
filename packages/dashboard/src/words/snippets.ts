/** A submission as a command or a program. Both contain JSON, but Python has other words for `true`, `false` and `null`. */
import type { JobSubmission } from '@vouchbox/client';

interface Snippet {
  readonly name: string;
  readonly textOf: (submission: JobSubmission, baseUrl: string) => string;
}

export const SNIPPETS: readonly Snippet[] = [
  { name: 'curl', textOf: curl },
  { name: 'TypeScript', textOf: typescript },
  { name: 'Python', textOf: python },
];

function curl(submission: JobSubmission, baseUrl: string): string {
  return [
    '# An answer without "result" after 30 seconds is of a job that has not ended. With the job_id of the answer, ask again:',
    `# ${baseUrl}/v1/jobs/JOB_ID/result?wait_seconds=30`,
    `curl -sS ${shellWord(`${baseUrl}/v1/jobs?wait_seconds=30`)} \\`,
    '  -H "Authorization: Bearer $SERVICE_KEY" \\',
    "  -H 'Content-Type: application/json' \\",
    `  --data-binary ${shellWord(JSON.stringify(submission))}`,
    '',
  ].join('\n');
}

function typescript(submission: JobSubmission, baseUrl: string): string {
  return [
    "import { createServiceClient } from '@vouchbox/client';",
    '',
    `const client = createServiceClient({ baseUrl: ${JSON.stringify(baseUrl)}, apiKey: process.env.SERVICE_KEY! });`,
    `const result = await client.run(${JSON.stringify(submission, null, 2)});`,
    '// result.status, result.exit_code, result.stdout, result.files',
    '',
  ].join('\n');
}

/** The submission for Python, as JSON in a string, because Python itself has other words for true, false and null. */
function python(submission: JobSubmission, baseUrl: string): string {
  return [
    'import json',
    'import os',
    '',
    'from vouchbox import Client',
    '',
    `submission = json.loads(${JSON.stringify(JSON.stringify(submission))})`,
    `with Client(${JSON.stringify(baseUrl)}, os.environ["SERVICE_KEY"]) as client:`,
    '    result = client.run(submission)',
    '    print(result.status, result.exit_code, result.stdout)',
    '',
  ].join('\n');
}

/** One word of a POSIX shell, with any content. */
function shellWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
