import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TransportFailure } from '@vouchbox/client';
import { expect, onTestFinished, test } from 'vitest';
import { fetchOutputs } from './large-output-files.ts';

const record = { path: 'output/a', size_bytes: 3, sha256: 'digest' };

/** A service that breaks off each answer before the one with this number, and then sends the whole file. */
function breakingOff(answers: number) {
  const asked: string[] = [];
  async function* pieces(): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    yield Buffer.from('ab');
    if (asked.length < answers) throw new TransportFailure('truncated', 'the answer broke off');
    yield Buffer.from('c');
  }
  const downloadPieces = async (blob: string) => {
    asked.push(blob);
    return pieces();
  };
  return { asked, downloadPieces };
}

test('a large output is fetched again if the answer breaks off, up to three times in all', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-cli-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const wanted = [{ path: 'output/a', target: join(directory, 'a') }];
  await fetchOutputs(wanted, [record], breakingOff(3));
  expect(readFileSync(join(directory, 'a'), 'utf8')).toBe('abc');
  await expect(fetchOutputs(wanted, [record], breakingOff(4))).rejects.toThrow('broke off');
});

test('no part of a large output is written to a device twice', async () => {
  const service = breakingOff(2);
  await expect(fetchOutputs([{ path: 'output/a', target: '/dev/null' }], [record], service)).rejects.toThrow(
    'broke off',
  );
  expect(service.asked).toEqual(['sha256:digest']);
});
