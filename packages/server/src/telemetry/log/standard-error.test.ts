import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { standardError, waitingBytesMax } from './standard-error.ts';

const systemError = (code: string) => Object.assign(new Error(code), { code });

/** A reader that takes bytes only while it has room. The test sets the room. */
function slowReader() {
  const reader = { text: '', room: 0 };
  const log = standardError((bytes) => {
    const taken = Math.min(reader.room, bytes.length);
    if (taken === 0) throw systemError('EAGAIN');
    reader.room -= taken;
    reader.text += Buffer.from(bytes.subarray(0, taken)).toString();
    return taken;
  });
  return { reader, log };
}

test('a log line is written at once if its reader has room', () => {
  const { reader, log } = slowReader();
  reader.room = 100;
  log.write('one\n');
  expect(reader.text).toBe('one\n');
});

test('log lines that a slow reader does not take at once are written later, in order', () => {
  const { reader, log } = slowReader();
  reader.room = 5;
  log.write('one\n');
  log.write('two\n');
  log.write('three\n');
  expect(reader.text).toBe('one\nt');
  reader.room = 100;
  log.write('four\n');
  expect(reader.text).toBe('one\ntwo\nthree\nfour\n');
});

test('lines beyond a bound are lost if their reader takes nothing, and the reader later gets only whole lines', () => {
  const { reader, log } = slowReader();
  const line = `${'x'.repeat(1023)}\n`;
  for (let count = 0; count < 2000; count++) log.write(line);
  reader.room = Number.POSITIVE_INFINITY;
  log.write('later\n');
  expect(reader.text).toBe(`${line.repeat(waitingBytesMax / 1024)}later\n`);
});

test('the log stops writing when its reader is gone', () => {
  let writes = 0;
  const log = standardError(() => {
    writes++;
    throw systemError('EPIPE');
  });
  log.write('one\n');
  log.write('two\n');
  expect(writes).toBe(2);
});

test('a process ends even if its log is no longer read', async () => {
  const module = new URL('./log.ts', import.meta.url).href;
  const program = `
    import { createLog } from '${module}';
    process.stdin.once('data', () => {
      const log = createLog('info');
      log.info('one');
      log.info('two');
      process.exit(7);
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stderr.destroy();
  await once(child.stderr, 'close');
  child.stdin.end('go');
  expect(await once(child, 'exit')).toEqual([7, null]);
});
