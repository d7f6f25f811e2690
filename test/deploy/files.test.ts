/** The files in deploy/ are valid: systemd accepts the unit, and unit, container and documents agree. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@vouchbox/server';
import { describe, expect, test } from 'vitest';
import { CLASSES, serviceProblems } from './capability-trial.ts';
import { DEPLOY, readUnit, serviceUnit, unitCapabilities } from './unit.ts';

/** The command's name. It occurs once in each file. */
const COMMAND = 'vouchbox';
const root = join(DEPLOY, '..');
const unit = serviceUnit();
const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8');
const start = readFileSync(join(root, 'docs/operating/start.md'), 'utf8');
const rights = readFileSync(join(root, 'docs/operating/rights.md'), 'utf8');

const hasSystemd = existsSync('/usr/bin/systemd-analyze');
const untried = hasSystemd ? '' : ' (not tried: systemd-analyze is not installed)';

/** Runs systemd-analyze on a copy of the unit for this checkout, and returns what it prints. */
function analyze(...words: string[]): string {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-unit-'));
  try {
    const copy = join(scratch, 'vouchbox.service');
    writeFileSync(copy, read('vouchbox.service').replaceAll('/opt/vouchbox', root));
    cpSync(join(DEPLOY, 'vouchbox.service.d'), `${copy}.d`, { recursive: true });
    return execFileSync('systemd-analyze', [...words, copy], { stdio: 'pipe', encoding: 'utf8' });
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

describe('the systemd unit', () => {
  test.skipIf(!hasSystemd)(`is accepted by systemd with its example drop-in, without a warning${untried}`, () => {
    expect(analyze('verify', '--man=no')).toBe('');
  });

  test.skipIf(!hasSystemd)(`is at most as exposed as the documents say${untried}`, () => {
    const said = analyze('security', '--no-pager', '--offline=true');
    const [, exposure] = /Overall exposure level for vouchbox\.service: ([\d.]+)/.exec(said) ?? [];
    const [, documented] = /exposure level ([\d.]+)/.exec(rights) ?? [];
    expect(Number(exposure)).toBeLessThanOrEqual(Number(documented));
  });

  test('starts the command that a checkout has in node_modules/.bin', () => {
    expect(unit.get('ExecStart')).toEqual([`/opt/vouchbox/node_modules/.bin/${COMMAND} serve`]);
    expect(existsSync(join(root, 'node_modules/.bin', COMMAND))).toBe(true);
  });

  test('has only settings that the service accepts, and so does its example drop-in', () => {
    const dropIn = readUnit(read('vouchbox.service.d/example.conf'));
    for (const assignments of [unit.get('Environment') ?? [], dropIn.get('Environment') ?? []]) {
      const environment = Object.fromEntries(assignments.map((text) => text.split('=', 2)));
      expect(() => loadConfig(environment)).not.toThrow();
    }
    const secrets = (dropIn.get('LoadCredential') ?? []).map((text) => text.split(':', 1)[0] ?? '');
    for (const name of secrets) expect(start).toContain(`\`${name}\``);
    expect(secrets).not.toEqual([]);
  });

  test('puts no seccomp filter on the service, because every program in a cell would inherit the filter', () => {
    const filters = [
      ...[
        'SystemCallFilter',
        'SystemCallArchitectures',
        'RestrictAddressFamilies',
        'RestrictNamespaces',
        'RestrictRealtime',
      ],
      ...['RestrictSUIDSGID', 'LockPersonality', 'MemoryDenyWriteExecute', 'ProtectClock', 'ProtectHostname'],
      ...['ProtectKernelModules', 'ProtectKernelLogs', 'ProtectKernelTunables', 'PrivateDevices'],
    ];
    expect(filters.filter((name) => unit.has(name))).toEqual([]);
  });

  test.each(CLASSES)('leaves enough capabilities for every kind of job in the class %s', async (isolated) => {
    expect(await serviceProblems(isolated, unitCapabilities())).toEqual([]);
  });
});

describe('docs/operating and the container files', () => {
  test('name exactly the capabilities in the systemd unit', () => {
    const listed = [...rights.matchAll(/^\| `(CAP_[A-Z_]+)` \|/gm)].map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual(unitCapabilities().toSorted());
    const added = /cap_add:\n((?: {6}- [A-Z_]+\n)+)/.exec(read('compose.yaml'))?.[1]?.match(/[A-Z_]+/g) ?? [];
    expect(added.map((name) => `CAP_${name}`).toSorted()).toEqual(unitCapabilities().toSorted());
  });

  test('start the command that a checkout has in node_modules/.bin', () => {
    const entry = `ENTRYPOINT ["/opt/vouchbox/node_modules/.bin/${COMMAND}"]`;
    expect(read('Containerfile').split(`.bin/${COMMAND}`)).toHaveLength(2);
    expect(read('Containerfile')).toContain(entry);
  });

  test('set only variables that the service accepts', () => {
    const text = `${read('Containerfile')}${read('compose.yaml')}`;
    const environment = Object.fromEntries(
      [...text.matchAll(/(SERVICE_[A-Z_]+)(?:=|: ")([^"\s]+)/g)].map(([, name, value]) => [name ?? '', value]),
    );
    expect(Object.keys(environment)).toEqual(['SERVICE_HOST', 'SERVICE_DATA_DIR', 'SERVICE_PEER_CONNECTIONS_MAX']);
    expect(() => loadConfig(environment)).not.toThrow();
  });
});
