import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { expect, it } from 'vitest';
import type { Check } from './finding.ts';
import { HOST_POSTURE_SCHEMA, hostPosture, postureOf } from './host-posture.ts';

const check = (id: string, changes: Partial<Check> = {}): Check => ({
  id,
  title: 'a control',
  result: 'pass',
  observed: 'seen',
  fix: null,
  ...changes,
});

it('the posture of a host is the same for every service and at every time', async () => {
  const [one, other] = [await hostPosture('/tmp/one'), await hostPosture('/tmp/other')];
  expect(one).toEqual(other);
  expect(JSON.stringify(one)).not.toContain('/tmp/one');
});

it('the posture of a host names the kernel, the runtimes and the result of each control', async () => {
  const { findings } = await hostPosture('/tmp/one');
  expect(findings).toMatchObject({
    schema: HOST_POSTURE_SCHEMA,
    kernel: { release: release() },
    node: process.version,
  });
  expect(findings.controls).toMatchObject({ 'kernel.seccomp': 'pass', 'cgroup.memory': 'pass' });
  const crun = createHash('sha256').update(readFileSync('/usr/bin/crun')).digest('hex');
  expect(findings.runtimes['crun']).toMatchObject({ sha256: crun });
});

it('the digest of a posture is the SHA-256 of its canonical JSON, which any other program can compute', async () => {
  const { findings, sha256 } = await postureOf([check('kernel.seccomp')]);
  // All names are ASCII and there are no numbers, so RFC 8785 only asks that members are sorted at every depth.
  const canonical = JSON.stringify(findings, (_, value: unknown) =>
    value !== null && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  expect(sha256).toBe(createHash('sha256').update(canonical).digest('hex'));
});

it('the posture of a host changes with the result of a control, but not with details such as free space', async () => {
  const { sha256 } = await postureOf([check('kernel.seccomp'), check('cgroup.pids')]);
  const digest = async (...checks: Check[]) => (await postureOf(checks)).sha256;
  expect(await digest(check('cgroup.pids'), check('kernel.seccomp', { observed: 'seen differently' }))).toBe(sha256);
  expect(await digest(check('kernel.seccomp'), check('cgroup.pids'), check('host.free_space'))).toBe(sha256);
  expect(await digest(check('kernel.seccomp'), check('cgroup.pids', { result: 'warn' }))).not.toBe(sha256);
  expect(await digest(check('kernel.seccomp'))).not.toBe(sha256);
});
