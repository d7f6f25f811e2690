import { expect, test } from 'vitest';
import { type AnswerLine, answerLog } from './answer-log.ts';
import { createLog } from './log.ts';

const ANSWER: AnswerLine = {
  request_id: 'req_1',
  method: 'GET',
  route: '/v1/jobs/{id}',
  status: 200,
  duration_ms: 1.5,
  tenant: 'acme',
  credential_id: 'legacy_1',
};

function linesOf(answers: readonly AnswerLine[], level: 'info' | 'warn' = 'info'): string[] {
  const lines: string[] = [];
  const write = answerLog(createLog(level, { write: (line: string) => lines.push(line) }));
  for (const answer of answers) write(answer);
  return lines;
}

test.each<Partial<AnswerLine>>([
  {},
  { route: null, status: null, tenant: null, credential_id: null },
  { credential_id: 'a "quoted" one\n\u2028\ud800' },
  { method: 'M-"SEARCH' },
  { duration_ms: 0 },
])('an answer is logged as exactly one JSON object on one line: %j', (changes) => {
  const answer = { ...ANSWER, ...changes };
  const [line = '', ...others] = linesOf([answer]);
  expect(others).toEqual([]);
  expect(line.indexOf('\n')).toBe(line.length - 1);
  const { time, ...members } = JSON.parse(line) as Record<string, unknown>;
  expect(members).toEqual({ level: 'info', ...answer, msg: 'request answered' });
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('the lines for answers contain no text that looks like a credential', () => {
  const secrets = ['svc_a1b2_CANARY1234567890', 'eyJhbGciOi.CANARY1234567890.c2ln', 'x?ticket=CANARY1234567890'];
  const lines = linesOf(secrets.map((credential_id) => ({ ...ANSWER, credential_id })));
  expect(lines).toHaveLength(secrets.length);
  expect(lines.join('')).not.toContain('CANARY');
});

test('an answer is logged only if the log’s level includes the level of the answer’s line', () => {
  expect(linesOf([ANSWER], 'warn')).toEqual([]);
});
