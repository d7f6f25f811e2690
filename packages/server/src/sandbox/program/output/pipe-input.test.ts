import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PipeInput } from './pipe-input.ts';

/** More bytes than a pipe holds. */
const LONG = Buffer.alloc(1_000_000, 'long ');

describe('the writing end of a pipe', () => {
  let directory: string;
  let reading: number;
  let input: PipeInput;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'svc-pipe-'));
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    input = new PipeInput(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  });
  afterEach(() => {
    input.destroy();
    rmSync(directory, { recursive: true });
  });

  async function readToEnd(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of new Socket({ fd: reading, readable: true, writable: false }))
      chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  }

  test('writes what fits and the end of the input before it returns', () => {
    input.write('one ');
    input.end('two');
    const bytes = Buffer.alloc(16);
    expect(bytes.toString('latin1', 0, readSync(reading, bytes))).toBe('one two');
    expect(readSync(reading, bytes)).toBe(0);
    closeSync(reading);
  });

  test('writes an input larger than the pipe piece by piece, in order, as the program reads', async () => {
    input.write('before ');
    input.write(LONG);
    input.write(' after ');
    input.end('the end');
    expect(await readToEnd()).toEqual(Buffer.concat([Buffer.from('before '), LONG, Buffer.from(' after the end')]));
  });

  test('ends at once if the input is empty', async () => {
    input.end();
    expect(await readToEnd()).toEqual(Buffer.alloc(0));
  });

  test.each([
    ['short', Buffer.from('nobody')],
    ['long', LONG],
  ])('drops a %s input if nobody reads the pipe any more', (_length, bytes) => {
    closeSync(reading);
    expect(() => input.end(bytes)).not.toThrow();
  });

  test('writes nothing once it was destroyed', () => {
    input.destroy();
    input.end('late');
    const bytes = Buffer.alloc(16);
    expect(readSync(reading, bytes)).toBe(0);
    closeSync(reading);
  });
});
