import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { lineBatch } from './line-batch.ts';

function batchOf() {
  const pieces: string[] = [];
  const turns: (() => void)[] = [];
  const batch = lineBatch({ write: (piece) => pieces.push(piece) }, (flush) => turns.push(flush));
  return { pieces, batch, endTurn: () => turns.splice(0).map((flush) => flush()) };
}

test('lines from one turn of the event loop are written together and in order', () => {
  const { pieces, batch, endTurn } = batchOf();
  batch.write('one\n');
  batch.write('two\n');
  expect(pieces).toEqual([]);
  endTurn();
  batch.write('three\n');
  endTurn();
  endTurn();
  expect(pieces).toEqual(['one\ntwo\n', 'three\n']);
});

test('lines that are flushed are not written again at the end of the turn', () => {
  const { pieces, batch, endTurn } = batchOf();
  batch.write('one\n');
  batch.flushSync();
  endTurn();
  expect(pieces).toEqual(['one\n']);
});

test.each([
  ['exits', 'process.exit(7);'],
  ['fails', "throw new Error('unexpected');"],
])('a process that %s in the same turn has still written its earlier log lines', (_why, end) => {
  const module = new URL('./log.ts', import.meta.url).href;
  const program = `import { createLog } from '${module}'; createLog('info').info('last words'); ${end}`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  expect(stderr).toContain('"msg":"last words"');
});
