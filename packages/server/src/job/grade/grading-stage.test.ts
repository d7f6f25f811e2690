/** A grading whose steps fail either continues or says why it ended. */

import { sha256Hex } from '@vouchbox/evidence';
import { LIMIT_CEILINGS } from '@vouchbox/protocol';
import { VERDICT_FILE } from '@vouchbox/protocol/grading';
import { expect, test } from 'vitest';
import { acme, JobRig } from '../../../test/job-rig.ts';
import { createRateBudget } from '../../capacity/rate.ts';
import type { Store } from '../../store/store.ts';
import { StoreError } from '../../store/store-error.ts';
import { createLog } from '../../telemetry/log/log.ts';
import { createBlobs } from '../blobs/blobs.ts';
import { createGradings, type Gradings } from '../gradings.ts';
import { createObjectContents } from '../object-contents.ts';
import { GradingStage } from './grading-stage.ts';

const log = createLog('silent');
const BODY = { programs: [{ language: 'bash', code: 'true' }], tests: [{ name: 'a' }, { name: 'b' }] };
const VERDICT = JSON.stringify({ accepted: true, points: 2, points_max: 2 });

interface Circumstances {
  /** Whether judges leave a verdict. */
  readonly verdicts: boolean;
  readonly checkFreeSpace?: () => void;
  readonly slots?: () => number;
}

/** A stage over the rig. All programs in its cells succeed at once. */
function stageOf(
  rig: JobRig,
  { verdicts, checkFreeSpace = () => undefined, slots = () => 2 }: Circumstances,
): { stage: GradingStage; gradings: Gradings } {
  const { store, history, nudges, dispatcher, shutdown } = rig;
  const received = createRateBudget({ perSecond: 1, burst: 2 ** 30 });
  const blobs = createBlobs({
    store,
    blobsMax: 9,
    bytesMax: 2 ** 20,
    keepMilliseconds: 1000,
    checkFreeSpace,
    received,
  });
  const cells = { isReady: () => true };
  const shared = {
    store,
    history,
    nudges,
    ownNudges: nudges,
    dispatcher,
    blobs,
    log,
    checkFreeSpace,
    shutdown: shutdown.signal,
    objects: createObjectContents(null, log),
    ceilings: LIMIT_CEILINGS,
    blobBytesMax: 2 ** 20,
    others: () => [],
    isNumbered: true,
    promises: null,
    own: { provider: rig.provider, health: cells, room: { concurrency: 2, concurrentMemMbMax: 4096 } },
    queue: { total: 9, perTenant: 9 },
    slots,
    isOurTurn: () => true,
  };
  void endAll(rig, verdicts);
  return { stage: new GradingStage(shared), gradings: createGradings(shared) };
}

async function endAll(rig: JobRig, verdicts: boolean): Promise<void> {
  for (let ordinal = 0; ; ordinal++) {
    const cell = await rig.provider.running(ordinal);
    const isJudge = cell.program?.outputs.includes(VERDICT_FILE) === true;
    const content = Buffer.from(VERDICT);
    const file = { path: VERDICT_FILE, size_bytes: content.length, sha256: sha256Hex(content), content };
    cell.end({ kind: 'exited', exit_code: 0 }, { artifacts: isJudge && verdicts ? [file] : [] });
  }
}

const ended = async (gradings: Gradings, grading_id: string) =>
  await gradings.detail(acme, grading_id, { waitSeconds: 300, signal: new AbortController().signal });

const submitted = async (gradings: Gradings, body = BODY): Promise<string> =>
  (await gradings.submit(acme, { body, idempotencyKey: null })).answer.grading_id;

const THREE_TESTS = { ...BODY, tests: [...BODY.tests, { name: 'c' }] };

/** Makes each of these calls fail once, as if the store could not write for a moment. */
function failingOnce(real: Store, ...names: (keyof Store)[]): Partial<Store> {
  const left = new Set(names);
  const faults = names.map((name) => {
    const method = (real[name] as (input: unknown) => Promise<unknown>).bind(real);
    const once = (input: unknown) =>
      left.delete(name) ? Promise.reject(new StoreError('io', 'the disk does not answer')) : method(input);
    return [name, once];
  });
  return Object.fromEntries(faults) as Partial<Store>;
}

test('a grading completes even if every call to the store fails once', { tags: ['Gradings-13'] }, async () => {
  await using rig = await JobRig.open({
    faults: (real) =>
      failingOnce(
        real,
        'runningGradings',
        'gradingWork',
        'gradingProgram',
        'gradingTests',
        'admit',
        'gradedEnd',
        'endGradedJob',
        'endProgram',
      ),
  });
  const { stage, gradings } = stageOf(rig, { verdicts: true });
  await using _stage = stage;
  stage.start();
  const detail = await ended(gradings, await submitted(gradings));
  expect(detail).toMatchObject({ status: 'finished', runs_ended: 2, graded: [{ verdict: { points: 2 } }] });
  const page = await gradings.events(acme, detail.grading_id, {
    after: 0,
    limit: 99,
    waitSeconds: 0,
    signal: AbortSignal.abort(),
  });
  expect(page.items.map(({ kind, data }) => data.name ?? kind).toSorted()).toEqual([
    'finished',
    'judge',
    'program',
    'test 0',
    'test 1',
  ]);
});

test('a judge that leaves no verdict runs again, and in the end the graded program fails with the reason', async () => {
  await using rig = await JobRig.open();
  const { stage, gradings } = stageOf(rig, { verdicts: false });
  await using _stage = stage;
  stage.start();
  const detail = await ended(gradings, await submitted(gradings));
  expect(detail).toMatchObject({ status: 'failed', graded: [{ status: 'failed', verdict: null }] });
  expect(detail.graded[0]?.problem).toMatch(/^job_\S+ gave no verdict$/);
  expect(rig.provider.cells).toHaveLength(5);
});

test('the next test of a grading runs before the end of the last one is stored', async () => {
  const gate = Promise.withResolvers<void>();
  const waits: unknown[] = [];
  await using rig = await JobRig.open({
    faults: (real) => ({
      async finish(input) {
        waits.push(input.mayWait);
        await gate.promise;
        return await real.finish(input);
      },
    }),
  });
  for (const _ of THREE_TESTS.tests) rig.provider.park({ language: 'bash' });
  const { stage, gradings } = stageOf(rig, { verdicts: true });
  await using _stage = stage;
  stage.start();
  const grading_id = await submitted(gradings, THREE_TESTS);
  await rig.provider.running(2);
  gate.resolve();
  expect(await ended(gradings, grading_id)).toMatchObject({ status: 'finished', runs_ended: 3 });
  // One end may wait for the third test's start. Nothing that another end could wait for is being made.
  expect(waits).toEqual([true, false, false, false]);
});

interface Places {
  readonly concurrency: number;
  readonly tenantConcurrency?: number;
  readonly goneAt: 'third test' | 'end';
}

/** How three tests of a grading started. Their cells are gone once all three are being made, or only after the grading's end. */
async function startsOfTests({ goneAt, ...slots }: Places) {
  const starts: unknown[] = [];
  const gone = Promise.withResolvers<void>();
  await using rig = await JobRig.open({
    ...slots,
    testsMax: 2,
    faults: (real) => ({
      async admit(input) {
        starts.push(input.start === undefined ? 'queued' : 'at once');
        return await real.admit(input);
      },
    }),
  });
  for (const _ of THREE_TESTS.tests) {
    Object.assign(rig.provider.park({ language: 'bash' }), { [Symbol.asyncDispose]: () => gone.promise });
  }
  // The grading asks once, and then each of its three tests does.
  let asked = 0;
  const checkFreeSpace = () => {
    if (++asked === 4 && goneAt === 'third test') setImmediate(gone.resolve);
  };
  const { stage, gradings } = stageOf(rig, { verdicts: true, checkFreeSpace });
  await using _stage = stage;
  stage.start();
  await ended(gradings, await submitted(gradings, THREE_TESTS));
  gone.resolve();
  return starts.slice(0, 3);
}

test.each<[string, Omit<Places, 'goneAt'>]>([
  ['slot', { concurrency: 2 }],
  ['slot of its tenant', { concurrency: 3, tenantConcurrency: 2 }],
])('a test that lacks only a %s waits until a cell is gone, and starts without the queue', async (_lacks, slots) => {
  const starts = await startsOfTests({ ...slots, goneAt: 'third test' });
  expect(starts).toEqual(['at once', 'at once', 'at once']);
});

test('a test that finds a slot starts when the program of an earlier test has ended', async () => {
  const starts = await startsOfTests({ concurrency: 4, goneAt: 'end' });
  expect(starts).toEqual(['at once', 'at once', 'at once']);
});

test('an error while the next test is planned leaves the end of the last one as it was', async () => {
  await using rig = await JobRig.open();
  const [first] = THREE_TESTS.tests.map(() => rig.provider.park({ language: 'bash' }));
  let isBroken = false;
  const slots = () => {
    if (!isBroken) return 2;
    isBroken = false;
    throw new Error('a slot could not be counted');
  };
  void first?.released.promise.then(() => {
    isBroken = true;
  });
  const { stage, gradings } = stageOf(rig, { verdicts: true, slots });
  await using _stage = stage;
  stage.start();
  const detail = await ended(gradings, await submitted(gradings, THREE_TESTS));
  expect(detail).toMatchObject({ status: 'finished', runs_ended: 3 });
  expect(rig.provider.cells).toHaveLength(4);
});
