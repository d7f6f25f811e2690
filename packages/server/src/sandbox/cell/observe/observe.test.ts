/** Results about mounts are remembered, yet a difference in a later cell is found. `sandbox.test.ts` observes real cells. */
import { expect, test } from 'vitest';
import { type CellReport, observeNamespaceCell } from './observe.ts';

const FLAGS: Readonly<Record<string, string>> = {
  '/': 'ro,nosuid,nodev',
  '/usr': 'ro,nosuid,nodev',
  '/proc': 'ro,nosuid,nodev,noexec',
  '/work': 'rw,nosuid,nodev',
  '/work/input': 'ro,nosuid,nodev,noexec',
  '/tmp': 'rw,nosuid,nodev',
  '/dev/shm': 'rw,nosuid,nodev,noexec',
  '/dev/pts': 'rw,nosuid,noexec',
  '/svc/report': 'rw,nosuid,nodev,noexec',
  '/svc/guest': 'ro,nosuid,nodev,noexec',
};
const STATUS = [
  ...['Uid:\t70000\t70000\t70000\t70000', 'NSpid:\t900\t2', 'Groups:\t', 'NoNewPrivs:\t1', 'Seccomp:\t2'],
  ...['CapInh', 'CapPrm', 'CapEff', 'CapBnd'].map((set) => `${set}:\t0000000000000000`),
].join('\n');

/** The report of a cell whose mount ids begin with `firstId`. */
function reportOf(firstId: number, changed: Readonly<Record<string, string>> = {}): CellReport {
  const mounts = Object.entries({ ...FLAGS, ...changed }).map(
    ([path, flags], at) => `${firstId + at} ${firstId} 0:${firstId} / ${path} ${flags},relatime - tmpfs tmpfs rw`,
  );
  const sections: Readonly<Record<string, string>> = {
    status: STATUS,
    'init/status': 'Uid:\t70001\t70001\t70001\t70001\nNSpid:\t899\t1',
    mountinfo: `${mounts.join('\n')}\n`,
    '/proc/net/dev': 'Inter-|   Receive\n face |bytes\n    lo:       0\n',
  };
  return { hasCompiler: false, section: (name) => sections[name] ?? `${name.slice('ns/'.length)}:[1]` };
}

test('a protection that earlier cells had is reported missing in exactly those cells that lack it', () => {
  expect(observeNamespaceCell(reportOf(100))).toMatchObject({ private_rootfs: true });
  expect(observeNamespaceCell(reportOf(200))).toMatchObject({ private_rootfs: true });
  for (const id of [300, 400])
    expect(() => observeNamespaceCell(reportOf(id, { '/work': 'rw,nosuid' }))).toThrow(/^missing: nodev on \/work$/);
  const readable = () => observeNamespaceCell(reportOf(500, { '/': 'rw,nosuid,nodev' }));
  expect(readable).toThrow(/^missing: a read-only root of its own$/);
  expect(readable).toThrow(/^missing: a read-only root of its own$/);
  expect(observeNamespaceCell(reportOf(600))).toMatchObject({ private_rootfs: true });
});
