/** Two heads of one log, compared. */
import { afterAll, describe, expect, test } from 'vitest';
import { TestLog, testNoteKey } from '../../../test/rig/test-log.ts';
import { Scratch } from '../test/attested-job.ts';
import { serviceVerify } from './service-verify.ts';

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
let written = 0;
const file = (content: string) => scratch.write(`file-${++written}`, content);
const grow = (log: TestLog, size: number, what: string) => {
  while (log.size < size) log.append(new TextEncoder().encode(`${what} ${log.size}`));
};

const log = new TestLog();
grow(log, 20, 'statement');
const fork = log.fork();
grow(log, 40, 'statement');
grow(fork, 40, 'another');
const logKey = file(log.key.text);

async function compare([one, other]: readonly [string, string], ...proofs: readonly string[]) {
  const words = proofs.flatMap((proof) => ['--log-consistency', file(proof)]);
  const ending = await serviceVerify(['head', file(one), file(other), '--log-key', logKey, ...words, '--json']);
  if (ending.stdout === '') return { exitCode: ending.exitCode, said: ending.stderr };
  const { checks } = JSON.parse(ending.stdout) as { checks: { detail: string }[] };
  return { exitCode: ending.exitCode, said: checks.at(-1)?.detail };
}

describe('service-verify head compares two signed heads, and says that', () => {
  test('they are the same, whatever kind of file each is in', async () => {
    const same = { exitCode: 0, said: 'SAME: 40 statements' };
    expect(await compare([log.checkpoint(), log.checkpoint()])).toEqual(same);
    expect(await compare([log.checkpoint(), log.proof(3)])).toEqual(same);
    expect(await compare([log.consistency(20), log.checkpoint()])).toEqual(same);
  });

  test('one grew from the other if a proof shows this, whichever head is given first', async () => {
    const [old, now] = [log.checkpoint(20), log.checkpoint()];
    const grown = { exitCode: 0, said: 'GROWN: the tree of the second begins with that of the first' };
    expect(await compare([old, now], log.consistency(20))).toEqual(grown);
    expect(await compare([now, old], log.consistency(20))).toMatchObject({ exitCode: 0 });
    expect(await compare([log.checkpoint(20), log.checkpoint(30)], log.consistency(20), log.consistency(30))).toEqual(
      grown,
    );
  });

  test('the log forked if both have the same size and different roots, and the two files prove this', async () => {
    const forked = {
      exitCode: 6,
      said: 'FORKED: the log signed two heads of 40 statements: it shows other people another log',
    };
    expect(await compare([log.checkpoint(), fork.checkpoint()])).toEqual(forked);
    expect(await compare([log.proof(3), fork.proof(3)])).toEqual(forked);
    expect(await compare([log.checkpoint(20), fork.checkpoint()], log.consistency(20))).toEqual(forked);
  });

  test('the log was changed if its own proof does not lead from one head to the other', async () => {
    const proof = fork.consistency(30);
    expect(await compare([log.checkpoint(30), fork.checkpoint()], proof)).toMatchObject({
      exitCode: 6,
      said: expect.stringContaining('CHANGED: the log does not begin with its earlier 30') as string,
    });
  });

  test('nothing is shown if the proof between the heads is missing', async () => {
    const said = expect.stringContaining('NOT SHOWN: nothing shows that the heads of 20 and of 40') as string;
    expect(await compare([log.checkpoint(20), log.checkpoint()])).toEqual({ exitCode: 5, said });
    const other = log.consistency(10);
    expect(await compare([log.checkpoint(20), log.checkpoint()], other)).toEqual({ exitCode: 5, said });
  });
});

describe('a head that service-verify refuses', () => {
  const stranger = new TestLog();
  const elsewhere = new TestLog({ host: 'log.example', tree: 2 });
  test.each([
    ['that a stranger signed', stranger.checkpoint(), 'the key of log.example/log/1 did not sign it'],
    ['of another tree', elsewhere.checkpoint(), 'it is of the log log.example/log/2'],
    ['in Rekor’s form', log.rekorHead(), 'it is of the log log.example - 1'],
    ['missing from its file', 'nothing', 'it has no head'],
  ])('a head %s is refused with exit code 2', async (_what, head, problem) => {
    const refused = { exitCode: 2, said: expect.stringContaining(problem) as string };
    expect(await compare([log.checkpoint(), head])).toEqual(refused);
  });

  test('a proof of consistency with a head that a stranger signed is refused with exit code 2', async () => {
    expect(await compare([log.checkpoint(20), log.checkpoint()], stranger.consistency(1))).toMatchObject({
      exitCode: 2,
    });
  });
});

test('a head can be compared only with the key of its log, and not with the key of a witness', async () => {
  const witness = file(testNoteKey('witness.example', 'cosignature').text);
  const [one, other] = [file(log.checkpoint()), file(log.checkpoint())];
  expect(await serviceVerify(['head', one, other, '--log-key', witness])).toMatchObject({ exitCode: 1 });
  expect(await serviceVerify(['head', one, other])).toMatchObject({ exitCode: 1 });
  expect(await serviceVerify(['head', one, '/nowhere', '--log-key', logKey])).toMatchObject({ exitCode: 1 });
});
