import { Writable } from 'node:stream';
import type { JobEvent } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { type OutputTarget, showOutput } from './show-output.ts';

/** A reader that takes one chunk at a time and asks the writer to wait after each chunk. */
function slowReader({ isTTY = false } = {}): { target: OutputTarget; text: () => string } {
  const chunks: string[] = [];
  const target = new Writable({
    highWaterMark: 1,
    decodeStrings: false,
    write(chunk: string, _encoding, taken) {
      chunks.push(chunk);
      setImmediate(taken);
    },
  });
  return { target: Object.assign(target, { isTTY }), text: () => chunks.join('') };
}

test('each stream is shown byte for byte, and other events are not shown', async () => {
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
    await showOutput(each, { stdout: stdout.target, stderr: stderr.target }, 'safe');
  }
  expect(stdout.text()).toBe('a\n\nlong line');
  expect(stderr.text()).toBe('warning\n');
});

test('control characters are escaped on a terminal and left unchanged elsewhere', async () => {
  const text = 'a\tb\u001b]0;title\u0007\u009b2J\u202e';
  const write = async (form: 'safe' | 'raw') => {
    const [stdout, stderr] = [slowReader({ isTTY: true }), slowReader()];
    for (const kind of ['stdout', 'stderr'] as const) {
      const event = { kind, data: { text } } as unknown as JobEvent;
      await showOutput(event, { stdout: stdout.target, stderr: stderr.target }, form);
    }
    return [stdout.text(), stderr.text()];
  };
  expect(await write('safe')).toEqual(['a\tb\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{202e}\n', `${text}\n`]);
  expect(await write('raw')).toEqual([`${text}\n`, `${text}\n`]);
});
