import { expect, test } from 'vitest';
import { readyPosture, ScriptedProvider, unready } from '../../test/scripted-provider.ts';
import { BootstrapError, NotReadyInTime, Unanswered } from '../sandbox/sandbox.ts';
import { createLog } from '../telemetry/log/log.ts';
import { ProviderHealth } from './provider-health.ts';

const log = createLog('silent');
const request = { language: 'bash', runtime: null } as const;
const broken = () => {
  throw new BootstrapError('runtime', 'the runtime is gone', unready);
};

function rig() {
  let time = 0;
  const provider = new ScriptedProvider();
  const health = new ProviderHealth({ provider, log, now: () => time });
  return { provider, health, pass: (milliseconds: number) => (time += milliseconds) };
}

test('the provider counts as ready after the preflight, until the service fails to make a cell', async () => {
  const { provider, health } = rig();
  expect(health.isReady()).toBe(true);
  await (await health.prepare(request))[Symbol.asyncDispose]();
  provider.script = broken;
  await expect(health.prepare(request)).rejects.toBeInstanceOf(BootstrapError);
  await expect.poll(() => health.isReady()).toBe(false);
});

test('one failed cell does not make the host count as broken, because a trial cell succeeds', async () => {
  const { provider, health } = rig();
  let calls = 0;
  provider.script = () => (++calls === 1 ? broken() : readyPosture);
  await expect(health.prepare({ ...request, runtime: 'a-pack' })).rejects.toBeInstanceOf(BootstrapError);
  await expect.poll(() => provider.cells.map(({ disposed }) => disposed)).toEqual([true]);
  expect(health.isReady()).toBe(true);
});

test('a job whose cell was late gets one more cell', async () => {
  const { provider, health } = rig();
  const late = () => new BootstrapError('bootstrap', 'late', unready, { cause: new NotReadyInTime(10_000) });
  provider.failOnce(late());
  expect((await health.prepare(request)).posture).toBe(readyPosture);
  provider.failOnce(late());
  provider.failOnce(late());
  await expect(health.prepare(request)).rejects.toThrow('late');
  await expect.poll(() => provider.cells.map(({ disposed }) => disposed)).toEqual([false, true]);
  expect(health.isReady()).toBe(true);
});

test('a parked cell that was late is not retried, and no trial cell is made', async () => {
  const { provider, health } = rig();
  provider.failOnce(new BootstrapError('bootstrap', 'late', unready, { cause: new NotReadyInTime(10_000) }));
  const aheadUntil = new AbortController().signal;
  await expect(health.prepare({ ...request, aheadUntil })).rejects.toThrow('late');
  await health[Symbol.asyncDispose]();
  expect(provider.cells).toEqual([]);
});

test('an error of the service while making a cell does not make the host count as broken', async () => {
  const { provider, health } = rig();
  provider.script = () => {
    throw new TypeError('a bug');
  };
  await expect(health.prepare(request)).rejects.toBeInstanceOf(TypeError);
  provider.script = () => readyPosture;
  await health[Symbol.asyncDispose]();
  expect([health.isReady(), provider.cells.length]).toEqual([true, 0]);
});

test('a provider that is not ready tries a cell at most once a second, and becomes ready with the first success', async () => {
  const { provider, health, pass } = rig();
  let calls = 0;
  provider.script = () => {
    calls += 1;
    return broken();
  };
  await expect(health.prepare(request)).rejects.toBeInstanceOf(BootstrapError);
  await expect.poll(() => health.isReady()).toBe(false);
  // Three cells were tried: one for the job, a trial cell of its language, and one of another language.
  expect([health.isReady(), health.isReady(), calls]).toEqual([false, false, 3]);
  provider.script = () => readyPosture;
  pass(999);
  expect([health.isReady(), provider.cells.length]).toEqual([false, 0]);
  pass(1);
  await expect.poll(() => health.isReady()).toBe(true);
  expect(provider.cells).toHaveLength(1);
});

test('if only the cells of one language fail, the language is reported until one of its cells starts', async () => {
  const { provider, health, pass } = rig();
  provider.failing.add('node');
  await expect(health.prepare({ language: 'node', runtime: null })).rejects.toBeInstanceOf(BootstrapError);
  await expect.poll(() => health.isWhole()).toBe(false);
  expect(health.isReady()).toBe(true);
  await (await health.prepare({ language: 'python', runtime: null }))[Symbol.asyncDispose]();
  expect(health.isWhole()).toBe(false);
  provider.failing.clear();
  pass(1000);
  await expect.poll(() => health.isWhole()).toBe(true);
});

test('a language whose cells fail does not stop other languages', async () => {
  const { provider, health } = rig();
  provider.failing.add('python');
  await expect(health.prepare({ language: 'python', runtime: null })).rejects.toBeInstanceOf(BootstrapError);
  await expect.poll(() => health.isWhole()).toBe(false);
  expect(await health.proven()).toBe(true);
});

test('a parked cell that never answered is followed by a trial cell', async () => {
  const { provider, health } = rig();
  provider.failOnce(new BootstrapError('bootstrap', 'silent', unready, { cause: new Unanswered(10_000) }));
  const aheadUntil = new AbortController().signal;
  await expect(health.prepare({ ...request, aheadUntil })).rejects.toThrow('silent');
  await health[Symbol.asyncDispose]();
  expect(provider.cells.map(({ language }) => language)).toEqual(['bash']);
});

test('a provider that was not ready becomes ready when a job gets a cell', async () => {
  const { provider, health } = rig();
  provider.script = broken;
  await expect(health.prepare(request)).rejects.toBeInstanceOf(BootstrapError);
  await expect.poll(() => health.isReady()).toBe(false);
  provider.script = () => readyPosture;
  await health.prepare(request);
  expect(health.isReady()).toBe(true);
});

test('a cell that was begun before cells failed does not prove that cells can be made', async () => {
  const { provider, health } = rig();
  const slow = Promise.withResolvers<typeof readyPosture>();
  provider.script = () => slow.promise;
  const begun = health.prepare(request);
  provider.script = broken;
  await expect(health.prepare(request)).rejects.toBeInstanceOf(BootstrapError);
  await expect.poll(() => health.isReady()).toBe(false);
  slow.resolve(readyPosture);
  await begun;
  expect(health.isReady()).toBe(false);
});

test('a disposed provider health makes no more trial cells', async () => {
  const { provider, health } = rig();
  await health[Symbol.asyncDispose]();
  provider.script = broken;
  await expect(health.prepare(request)).rejects.toBeInstanceOf(BootstrapError);
  provider.script = () => readyPosture;
  expect([health.isReady(), provider.cells.length]).toEqual([true, 0]);
});
