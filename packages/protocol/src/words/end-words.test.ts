import { expect, test } from 'vitest';
import { endWords } from './end-words.ts';

test.each([
  [{ status: 'queued' }, 'The job waits for its turn.'],
  [{ status: 'running', cancellation_requested: false }, 'The program runs.'],
  [{ status: 'running', cancellation_requested: true }, 'The program is being ended.'],
  [
    { status: 'failed', terminal_reason: 'exited', exit_code: 3, signal: null, duration_ms: 1500 },
    'The program ended by itself with exit code 3 after 1.50 s.',
  ],
  [{ terminal_reason: 'signaled', exit_code: 137, signal: 'SIGKILL' }, 'A signal ended the program with SIGKILL.'],
  [{ status: 'succeeded', terminal_reason: null, exit_code: 0 }, 'The job ended with exit code 0.'],
  [
    { terminal_reason: 'constructor', exit_code: '0', signal: 'a\u202Eb', duration_ms: {} },
    String.raw`The job ended with a\u{202e}b.`,
  ],
  [{}, 'The job ended.'],
])('the state of the job %j is told in one sentence, which leaves out unknown facts', (job, sentence) => {
  expect(endWords(job)).toBe(sentence);
});
