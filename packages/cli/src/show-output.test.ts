import { Writable } from 'node:stream';
import type { JobEvent } from '@svc/protocol';
import { expect, test } from 'vitest';
import { showOutput } from './show-output.ts';

/** A reader that takes one chunk at a time and asks the writer to wait after each. */
function slowReader(): { target: Writable; text: () => string } {
  const chunks: string[] = [];
  const target = new Writable({
    highWaterMark: 1,
    decodeStrings: false,
    write(chunk: string, _encoding, taken) {
      chunks.push(chunk);
      setImmediate(taken);
    },
  });
  return { target, text: () => chunks.join('') };
}

test('each stream is shown to the byte, and nothing but output is shown', async () => {
  const stdout = slowReader();
  const stderr = slowReader();
  const event = (kind: string, data: unknown) => ({ kind, data }) as JobEvent;
  for (const each of [
    event('queued', {}),
    event('stdout', { text: 'a' }),
    event('stderr', { text: 'warning' }),
    event('stdout', { text: '' }),
    event('stdout', { text: 'long', partial: true }),
    event('stdout', { text: ' line', partial: true }),
    event('finished', {}),
  ]) {
    await showOutput(each, { stdout: stdout.target, stderr: stderr.target });
  }
  expect(stdout.text()).toBe('a\n\nlong line');
  expect(stderr.text()).toBe('warning\n');
});
