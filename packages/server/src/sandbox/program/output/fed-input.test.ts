import { execFileSync } from 'node:child_process';
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NotGiven } from '../../sandbox.ts';
import { FedInput } from './fed-input.ts';
import { PipeInput } from './pipe-input.ts';

const PIECE = Buffer.alloc(256 * 1024, 'piece ');

describe('standard input that is read from the store in pieces', () => {
  let directory: string;
  let reader: Socket;
  let input: PipeInput;
  let asked = 0;
  let failures = 0;

  beforeEach(() => {
    [asked, failures] = [0, 0];
    directory = mkdtempSync(join(tmpdir(), 'svc-fed-'));
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    reader = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), readable: true });
    input = new PipeInput(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
  });
  afterEach(() => {
    reader.destroy();
    input.destroy();
    rmSync(directory, { recursive: true });
  });

  async function* pieces(count: number, isBroken = false): AsyncGenerator<Uint8Array> {
    for (asked = 0; asked < count; asked++) yield PIECE;
    if (isBroken) throw new Error('the rest is gone');
  }

  function fed(stdin: AsyncIterable<Uint8Array>): FedInput {
    return FedInput.of({ stdin }, input, () => failures++) as FedInput;
  }

  async function read(bytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of reader.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
      if (length >= bytes) break;
    }
    return Buffer.concat(chunks);
  }

  test('arrives whole and in order, and then ends', async () => {
    const feeding = fed(pieces(9));
    expect((await read(Number.POSITIVE_INFINITY)).equals(Buffer.concat(Array(9).fill(PIECE)))).toBe(true);
    await feeding.over();
    expect(failures).toBe(0);
  });

  test('is read from its source no faster than the program takes it', async () => {
    const feeding = fed(pieces(100));
    await read(PIECE.length);
    expect(asked).toBeLessThan(5);
    reader.destroy();
    await feeding.over();
  });

  test('is read to its end even if the program reads nothing, so that damage at the end is found', async () => {
    const whole = fed(pieces(5));
    reader.destroy();
    await whole.over();
    expect([asked, failures]).toEqual([5, 0]);
    await expect(fed(pieces(5, true)).over()).rejects.toThrow(NotGiven);
  });

  test('does not end if the store cannot be read, and the failure is reported at once', async () => {
    const feeding = fed(pieces(2, true));
    expect((await read(2 * PIECE.length)).length).toBe(2 * PIECE.length);
    await expect.poll(() => failures).toBe(1);
    expect(reader.readableEnded).toBe(false);
    await expect(feeding.over()).rejects.toThrow(NotGiven);
  });
});
