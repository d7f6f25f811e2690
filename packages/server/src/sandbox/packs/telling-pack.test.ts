/**
 * A pack's own code runs in cells alone, whatever starts them: here its `python3` tells, at each of its starts, as whom it
 * runs, with which rights and what it sees.
 */
import { existsSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copiedPython } from '../launcher/copies.fixture.ts';
import { openProvider } from '../preflight.ts';
import type { CellRequest, Provider } from '../sandbox.ts';
import type { Recipe } from './build/recipe.ts';
import { BUILD_MILLISECONDS_MAX, packsOf } from './shipped-packs.fixture.ts';

/** Where it would leave a mark, seen from any root directory that it finds. */
const MARK = join(tmpdir(), `svc-told-by-a-pack-${process.pid}`);

/** Runs at each start of its interpreter, and copies of one inherit what it told. */
const TOLD = `
import os
def tried(call, *words):
    try:
        return call(*words)
    except Exception as error:
        return type(error).__name__
def leave_marks():
    left = []
    for root in ['/proc/%s/root' % each for each in os.listdir('/proc') if each.isdigit() and int(each) != os.getpid()]:
        try:
            with open(root + '${MARK}', 'w') as file:
                file.write(str(os.getuid()))
            left.append(root)
        except OSError:
            pass
    return left
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
told = {
    'users': [*os.getresuid(), *os.getresgid()],
    'capabilities': sorted({value for name, value in status.items() if name.startswith('Cap')}),
    'no_new_privs': status.get('NoNewPrivs'), 'seccomp': status.get('Seccomp'),
    'namespaces': {each: tried(os.readlink, '/proc/self/ns/' + each) for each in ('mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup')},
    'processes': len([each for each in os.listdir('/proc') if each.isdigit()]),
    'root': sorted(os.listdir('/')), 'name': os.uname().nodename,
    'shadow': tried(open, '/etc/shadow'), 'memory': tried(open, '/proc/1/mem', 'rb'),
    'environment': sorted(name for name in os.environ if name.startswith('SERVICE')),
    'marks': leave_marks(),
}
`;

const RECIPE: Recipe = {
  name: 'telling',
  version: '1',
  languages: ['python'],
  suite: 'bookworm',
  packages: [],
  files: {
    '/usr/lib/python3/dist-packages/told_by_pack.py': TOLD.trim().split('\n'),
    '/usr/lib/python3/dist-packages/telling.pth': ['import told_by_pack'],
  },
};

const PRINT = 'import json, sys; print(json.dumps(sys.modules["told_by_pack"].told))';

let packs: string;
beforeAll(async () => {
  ({ packs } = await packsOf([RECIPE]));
}, BUILD_MILLISECONDS_MAX);

describe.each([
  ['namespace', 'fork', 'started'],
  ['namespace', 'fork', 'copied'],
  ['namespace', 'crun', 'started'],
  ['gvisor', 'fork', 'started'],
] as const)('the python3 of a pack, in the %s class with the launcher %s, when it is %s', (choice, launcher, way) => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-telling-'));
  let provider: Provider;
  beforeAll(async () => {
    const options = { packsDirectory: packs, workBytes: 2 ** 24, hostPostureSha256: null, namespaceLauncher: launcher };
    ({ provider } = await openProvider({ choice, instance: directory, ...options }));
  });
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
    rmSync(MARK, { force: true });
  });

  test('has no right of the host and sees nothing of it', async () => {
    const request: CellRequest =
      way === 'copied'
        ? await copiedPython(provider, 'telling', 'telling')
        : { language: 'python', runtime: 'telling', owner: 'telling' };
    const told = JSON.parse(await run(provider, request));
    expect(told).toMatchObject({
      users: Array.from({ length: 6 }, () => 1000),
      capabilities: ['0000000000000000'],
      processes: expect.toSatisfy((count: number) => count < 8),
      environment: [],
      marks: [],
      memory: 'PermissionError',
    });
    const filter = { no_new_privs: '1', seccomp: '2' };
    // gVisor's kernel says nothing of them.
    expect(told).toMatchObject(choice === 'namespace' ? filter : {});
    for (const [name, link] of Object.entries(told.namespaces))
      expect(link).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
    expect(told.name).not.toBe(hostname());
    expect(existsSync(MARK)).toBe(false);
  });
});

async function run(provider: Provider, request: CellRequest): Promise<string> {
  await using cell = await provider.prepare(request);
  const program = { language: 'python', code: PRINT, stdin: null, args: [], env: {}, files: [], outputs: [] } as const;
  const loaded = await cell.handOver({ ...program, limits: { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 30 } });
  let said = '';
  const running = loaded.release((_stream, records) => {
    for (const record of records) said += outputText(record);
  });
  await running.collect();
  return said;
}
