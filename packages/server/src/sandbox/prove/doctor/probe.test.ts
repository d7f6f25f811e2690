import { expect, test } from 'vitest';
import { Probes } from './probe.ts';

test('each probe runs in its own process, so that it can give up rights that the next probe needs', async () => {
  using probes = new Probes();
  const said = [await probes.probed('no_new_privileges'), await probes.probed('no_new_privileges')];
  expect(said).toEqual(Array.from({ length: 2 }, () => 'held 1, and it cannot be undone'));
});

test('concurrent probes each get their own answer', async () => {
  using probes = new Probes();
  const said = await Promise.all([
    probes.probed('namespace', 'pid'),
    probes.probed('network'),
    probes.probed('seccomp'),
  ]);
  expect(said).toEqual([
    'its own namespace, process 1',
    'interfaces lo, a connection fails (Network is unreachable)',
    'mode 2, the refused call gives: Operation not permitted',
  ]);
});

test('a probe that fails rejects with its output', async () => {
  using probes = new Probes();
  await expect(probes.probed('mount', '/nowhere')).rejects.toThrow('mount /nowhere: No such file or directory');
  await expect(probes.probed('unheard-of')).rejects.toThrow('no such trial');
});

test('disposing the probes kills them all, and the next probe starts a new process', async () => {
  using probes = new Probes();
  const { spoke, ended } = probes.begin(['network']);
  probes[Symbol.dispose]();
  await spoke;
  expect(await ended).toEqual({ said: '', ok: false, signal: 'SIGKILL' });
  expect(await probes.probed('namespace', 'uts')).toBe('its own namespace');
});
