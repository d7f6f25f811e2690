import { expect, test } from 'vitest';
import { ScriptedProvider, unready } from '../../test/scripted-provider.ts';
import { cellsOf, ProviderHealth } from '../facts/provider-health.ts';
import { BootstrapError } from '../sandbox/sandbox.ts';
import type { JobSummary } from '../store/records/rows.ts';
import { createLog } from '../telemetry/log/log.ts';
import { NO_OBSERVER, type Observer } from '../telemetry/observer.ts';
import type { History } from './history.ts';
import { observedCells, observedHistory } from './observed.ts';

const key = { tenant: 'acme', job_id: 'job_1' };
const ended = {
  ...key,
  status: 'succeeded',
  language: 'bash',
  finished_at: '2026-01-01T00:00:01.000Z',
} as unknown as JobSummary;

/** An observer that notes what it is told, and a history whose answers the test sets. */
function rig(answers: Partial<Record<keyof History, unknown>>, summary: () => Promise<JobSummary | null>) {
  const told: [what: string, of: unknown][] = [];
  const note = (what: string) => (of: unknown) => void told.push([what, of]);
  const observer: Observer = {
    ...NO_OBSERVER,
    jobAdmitted: note('admitted'),
    jobEnded: note('ended'),
    changeCommitted: (seconds) => note('committed')(seconds >= 0),
    cellPrepared: ({ language, isReady, seconds }) => note('prepared')([language, isReady, seconds >= 0]),
  };
  const plain = Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, async () => answer]));
  const log = createLog('silent');
  const history = observedHistory(plain as unknown as History, { store: { jobSummary: summary }, observer, log });
  return { history, observer, told };
}

const asEnded = async () => ended;
const COMMITTED = ['committed', true];

test('an accepted job is reported as a job and a commit, and a repeated or refused submission only as a commit', async () => {
  const { language, ...job } = { ...key, language: 'bash' };
  const created = rig({ admit: { kind: 'created', job } }, asEnded);
  const input = { ...key, requested_spec: { language } };
  expect(await created.history.admit(input as never)).toEqual({ kind: 'created', job });
  expect(created.told).toEqual([COMMITTED, ['admitted', { job_id: key.job_id, language }]]);
  for (const kind of ['replayed', 'key_reused', 'full']) {
    const other = rig({ admit: { kind, job } }, asEnded);
    expect(await other.history.admit({} as never)).toEqual({ kind, job });
    expect(other.told).toEqual([COMMITTED]);
  }
});

test('the observer sees starts and appended events as commits, and callers get the results unchanged', async () => {
  const { history, told } = rig({ start: false, append: true }, asEnded);
  expect([await history.start({} as never), await history.append(key, [])]).toEqual([false, true]);
  expect(told).toEqual([COMMITTED, COMMITTED]);
});

test('the end of a job is reported once, with the stored outcome, whoever ended the job', async () => {
  const finished = rig({ finish: true }, asEnded);
  expect(await finished.history.finish(key as never)).toBe(true);
  await expect.poll(() => finished.told).toEqual([COMMITTED, ['ended', ended]]);
  const cancelled = rig({ requestCancel: { kind: 'cancelled' } }, asEnded);
  await cancelled.history.requestCancel(key as never);
  await expect.poll(() => cancelled.told).toEqual([COMMITTED, ['ended', ended]]);
});

test.each<[string, Partial<Record<keyof History, unknown>>]>([
  ['ended already', { finish: false }],
  ['only asked to end', { requestCancel: { kind: 'running' } }],
  ['over before it was cancelled', { requestCancel: { kind: 'already_terminal' } }],
])('a job that was %s has no end to report', async (_name, answers) => {
  let asked = 0;
  const { history, told } = rig(answers, async () => {
    asked += 1;
    return ended;
  });
  if ('finish' in answers) await history.finish(key as never);
  else await history.requestCancel(key as never);
  expect([told, asked]).toEqual([[COMMITTED], 0]);
});

test('a job’s end is counted only if the store returns an ended job, and no caller waits for the count', async () => {
  const notEnded = { ...ended, status: 'running', finished_at: null } as unknown as JobSummary;
  for (const summary of [
    () => Promise.reject(new Error('the store is away')),
    async () => null,
    async () => notEnded,
  ]) {
    const asked = Promise.withResolvers<void>();
    const { history, told } = rig({ finish: true }, () => {
      asked.resolve();
      return summary();
    });
    expect(await history.finish(key as never)).toBe(true);
    await asked.promise;
    expect(told).toEqual([COMMITTED]);
  }
});

test('a change that failed is not reported as a commit, and the caller gets its error', async () => {
  const { observer, told } = rig({}, asEnded);
  const failing = { finish: () => Promise.reject(new Error('disk full')) } as unknown as History;
  const history = observedHistory(failing, { store: { jobSummary: asEnded }, observer, log: createLog('silent') });
  await expect(history.finish(key as never)).rejects.toThrow('disk full');
  expect(told).toEqual([]);
});

test('each preparation of a cell is reported with its outcome, and the caller gets the cell or the error', async () => {
  const { observer, told } = rig({}, asEnded);
  const provider = new ScriptedProvider();
  const observed = observedCells(cellsOf(new ProviderHealth({ provider, log: createLog('silent') }), null), observer);
  const request = { language: 'node', runtime: null } as const;
  expect(await observed.prepare(request)).toBe(provider.cells[0]);
  provider.script = () => {
    throw new BootstrapError('pivot', 'it failed', unready);
  };
  await expect(observed.prepare(request)).rejects.toThrow('it failed');
  expect(await observed.proven()).toBe(false);
  expect(observed.isReady()).toBe(false);
  expect(told).toEqual([
    ['prepared', ['node', true, true]],
    ['prepared', ['node', false, true]],
  ]);
});
