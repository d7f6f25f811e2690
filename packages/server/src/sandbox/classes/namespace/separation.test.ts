/**
 * Python programs of two owners share no seed, no address, and no page of memory that reveals anything, whether their
 * interpreters are started or are copies of a template. They see nothing of another cell, of the launcher or of the host.
 */
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openProvider } from '../../prove/preflight.ts';
import type { CellRequest, PreparedCell, Provider } from '../../sandbox.ts';
import { copiedPython } from './copies.fixture.ts';

const LIMITS = { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 30 };

const directory = mkdtempSync(join(tmpdir(), 'svc-separation-'));
let provider: Provider;
beforeAll(async () => {
  const options = { packsDirectory: null, workBytes: 2 ** 24, hostPostureSha256: null };
  ({ provider } = await openProvider({
    choice: 'namespace',
    namespaceLauncher: 'fork',
    instance: directory,
    ...options,
  }));
});
afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** Starts a program in a cell, and resolves to what it printed when it ended. */
async function runIn(cell: PreparedCell, code: string, limits = LIMITS): Promise<string> {
  const program = { language: 'python', code, stdin: null, args: [], env: {}, files: [], outputs: [] } as const;
  const loaded = await cell.handOver({ ...program, limits });
  let said = '';
  const running = loaded.release((_stream, records) => {
    for (const record of records) said += outputText(record);
  });
  await running.collect();
  return said;
}

async function run(request: CellRequest, code: string, limits = LIMITS): Promise<string> {
  await using cell = await provider.prepare(request);
  return await runIn(cell, code, limits);
}

const STARTED: CellRequest = { language: 'python', runtime: null };

/** A request for a cell of this owner. */
const KINDS: Readonly<Record<string, (owner: string) => Promise<CellRequest>>> = {
  'is started': async (owner) => ({ ...STARTED, owner }),
  'is a copy': (owner) => copiedPython(provider, owner),
};

/** Prints what two forks of one process share: the hash seed, the memory layout, and the random bytes that the kernel gave. */
const LIKENESS = `
import ctypes, os, re
maps = open('/proc/self/maps').read()
where = lambda name: re.search('([0-9a-f]+)-.*' + re.escape(name), maps)[1]
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
random = ctypes.string_at(libc.getauxval(25), 16).hex()
print(hash('x'), where('libc'), where('[stack]'), where('[vdso]'), random)
`;

test.each(Object.keys(KINDS))(
  'an interpreter that %s shares its memory layout and seeds with no other owner',
  async (kind) => {
    const requestOf = KINDS[kind] as (typeof KINDS)[string];
    const [one, other] = [await run(await requestOf('one'), LIKENESS), await run(await requestOf('other'), LIKENESS)];
    const [ours, theirs] = [one.trim().split(' '), other.trim().split(' ')];
    expect(ours).toHaveLength(5);
    for (const [at, fact] of ours.entries()) expect(fact).not.toBe(theirs[at]);
  },
);

/**
 * A program that searches all memory that it can read for marks of other cells, of the service and of the host. Each
 * pattern is spelled so that it does not match its own text.
 */
const SEARCH = `
import re
marks = [rb'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', rb'/sys/fs/[c]group', rb'/run/[s]vc', rb'cpu[a]cct',
    rb'memory[.](?:limit|max)', rb'pids[.](?:max|current)', rb'node[_]modules', rb'rootf[s]-', rb'exited 4[2]', rb'SERVIC[E]_',
    rb'==> (?:ending|process|init|[0-9])']
found = set()
with open('/proc/self/mem', 'rb', 0) as memory:
    for line in open('/proc/self/maps'):
        place, rights, *_ = line.split()
        start, end = (int(at, 16) for at in place.split('-'))
        if 'r' not in rights or start > 2**47: continue
        try:
            memory.seek(start)
            held = memory.read(end - start)
        except OSError:
            continue
        for mark in marks:
            found.update(each for each in re.findall(mark, held))
        del held
print(sorted(found))
`;

describe.each(Object.keys(KINDS))('the memory of a program whose interpreter %s', (kind) => {
  test('contains nothing of another cell, of the launcher or of the host', async () => {
    const request = await (KINDS[kind] as (typeof KINDS)[string])(`searching ${kind}`);
    await using neighbour = await provider.prepare(request);
    for (let at = 0; at < 3; at++)
      await run(request, 'import os; os._exit(42)', { ...LIMITS, mem_mb: 321, max_pids: 57 });
    expect(await run(request, SEARCH)).toBe('[]\n');
    expect(neighbour.isWhole()).toBe(true);
  });

  test('shares no page with an interpreter of another owner', async () => {
    const requestOf = KINDS[kind] as (typeof KINDS)[string];
    const own = await requestOf('sharing');
    const others = await requestOf('sharing with none');
    const [one, two, three] = [await waitingIn(own), await waitingIn(own), await waitingIn(others)];
    await using _one = one.cell;
    await using _two = two.cell;
    await using _three = three.cell;
    const common = (other: ReadonlySet<bigint>) => one.pages.intersection(other).size;
    expect(one.pages.size).toBeGreaterThan(100);
    expect(common(three.pages)).toBe(0);
    // Copies of one template share pages. If this did not find those pages, the comparison above would prove nothing.
    expect(common(two.pages) > 100).toBe(kind === 'is a copy');
  });
});

test('a template has the same protections as a cell', async () => {
  const before = interpreters();
  await copiedPython(provider, 'walled');
  const [template = 0, ...others] = interpreters().difference(before);
  expect(others).toEqual([]);
  const status = readFileSync(`/proc/${template}/status`, 'utf8');
  for (const none of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
    expect(status).toMatch(new RegExp(`^${none}:\\s+0+$`, 'm'));
  }
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
  expect(status).toMatch(/^Seccomp:\s+2$/m);
  expect(status).not.toMatch(/^Uid:.*\b0\b/m);
  for (const name of ['mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup']) {
    expect(readlinkSync(`/proc/${template}/ns/${name}`)).not.toBe(readlinkSync(`/proc/self/ns/${name}`));
  }
  const seen = readdirSync(`/proc/${template}/root/proc`).filter((name) => /^\d+$/.test(name));
  expect(seen).toEqual(['1', '2']);
  expect(readdirSync(`/proc/${template}/root/tmp`)).toEqual([]);
  expect(readFileSync(`/proc/${template}/oom_score_adj`, 'utf8')).toBe('1000\n');
});

/** Processes below this one that run Python in a cell. */
function interpreters(): Set<number> {
  return new Set(
    readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && isPython(pid) && isBelow(pid)),
  );
}

function isPython(pid: number): boolean {
  return read(`/proc/${pid}/cmdline`).includes('/svc/guest/');
}

function isBelow(pid: number): boolean {
  const parent = Number(/^PPid:\s+(\d+)$/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
  return parent === process.pid || (parent > 1 && isBelow(parent));
}

/** Empty if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A cell that waits, and the pages of memory that its interpreter has written. */
async function waitingIn(request: CellRequest): Promise<{ cell: PreparedCell; pages: ReadonlySet<bigint> }> {
  const before = interpreters();
  const cell = await provider.prepare(request);
  const [pid = 0] = interpreters().difference(before);
  return { cell, pages: pagesOf(pid) };
}

const PAGE_BYTES = 4096n;
const ENTRY_BYTES = 8;
const PRESENT = 1n << 63n;
const OF_A_FILE = 1n << 61n;
const FRAME = (1n << 55n) - 1n;

/** Frames of the anonymous pages of a process: proc_pid_pagemap(5). */
function pagesOf(pid: number): ReadonlySet<bigint> {
  const frames = new Set<bigint>();
  const map = openSync(`/proc/${pid}/pagemap`, 'r');
  for (const [, start = '', end = ''] of read(`/proc/${pid}/maps`).matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
    const [first, last] = [BigInt(`0x${start}`) / PAGE_BYTES, BigInt(`0x${end}`) / PAGE_BYTES];
    const entries = Buffer.alloc(Number(last - first) * ENTRY_BYTES);
    readSync(map, entries, 0, entries.length, Number(first) * ENTRY_BYTES);
    for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
      const entry = entries.readBigUInt64LE(at);
      if ((entry & PRESENT) !== 0n && (entry & OF_A_FILE) === 0n) frames.add(entry & FRAME);
    }
  }
  closeSync(map);
  return frames;
}
