/** System calls by name and number on both architectures, compared with what libseccomp knows of the kernel. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type KnownArchitecture, SYSTEM_CALL_NUMBERS } from './system-calls.fixture.ts';
import { ALLOWED_CALLS, REFUSED_CALLS, UNKNOWN_CALLS } from './system-calls.ts';

/** Calls of x86-64 that arm64 never had. For most of them, arm64 has a newer call that libc uses, such as `openat`. */
const ONLY_ON_X86_64 =
  `access alarm arch_prctl chmod chown creat dup2 epoll_create epoll_ctl_old epoll_wait epoll_wait_old
  eventfd fork futimesat get_thread_area getdents getpgrp inotify_init lchown link lstat mkdir mknod open pause pipe poll
  readlink rename rmdir select set_thread_area signalfd stat symlink time unlink uretprobe utime utimes vfork`.split(
    /\s+/,
  );

/** libseccomp's numbers for the architectures: `SCMP_ARCH_X86_64` and `SCMP_ARCH_AARCH64` in seccomp.h. */
const ARCHITECTURES: Readonly<Record<KnownArchitecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };
const RESOLVE = `
import ctypes, json, sys
resolve = ctypes.CDLL("libseccomp.so.2").seccomp_syscall_resolve_name_arch
resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
names = json.load(sys.stdin)
print(json.dumps({name: resolve(int(sys.argv[1]), name.encode()) for name in names}))
`;
const UNKNOWN_NAME = -1;

/**
 * The numbers of calls by their names, negative where the architecture lacks the call. Names that are too new for this
 * libseccomp are left out.
 */
function resolved(architecture: KnownArchitecture, names: readonly string[]): ReadonlyMap<string, number> {
  const words = ['-c', RESOLVE, String(ARCHITECTURES[architecture])];
  const said = execFileSync('/usr/bin/python3', words, { input: JSON.stringify(names), encoding: 'utf8' });
  const numbers = Object.entries(JSON.parse(said) as Record<string, number>);
  return new Map(numbers.filter(([, number]) => number !== UNKNOWN_NAME));
}

describe('the system calls of the filter', () => {
  it('are each in exactly one list', () => {
    const all = [...ALLOWED_CALLS, ...REFUSED_CALLS, ...UNKNOWN_CALLS];
    expect(all.filter((name, at) => all.indexOf(name) !== at)).toEqual([]);
  });

  it('exist on x86-64, and on arm64 unless arm64 never had them', () => {
    expect([...SYSTEM_CALL_NUMBERS.x64.keys()]).toEqual(ALLOWED_CALLS);
    const onArm64 = ALLOWED_CALLS.filter((name) => !ONLY_ON_X86_64.includes(name));
    expect([...SYSTEM_CALL_NUMBERS.arm64.keys()]).toEqual(onArm64);
  });

  it('have no name that is misspelled', () => {
    const known = resolved('x64', REFUSED_CALLS);
    expect(REFUSED_CALLS.filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(['x64', 'arm64'] as const)(
    'have the numbers of the kernel on %s, if libseccomp knows them',
    (architecture) => {
      const wrong = [...resolved(architecture, ALLOWED_CALLS)].filter(
        ([name, number]) => (SYSTEM_CALL_NUMBERS[architecture].get(name) ?? -1) !== Math.max(number, -1),
      );
      expect(wrong).toEqual([]);
    },
  );
});

describe.each(['classes/subprocess/pipes.pl', 'prove/doctor/probe.pl'])('the numbers of system calls in %s', (file) => {
  const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const tableOf = (machine: string): ReadonlyMap<string, number> => {
    const [, table = ''] = new RegExp(`\\b${machine} => \\{([^}]*)\\}`).exec(text) ?? [];
    return new Map([...table.matchAll(/(\w+)\s*=>\s*(\d+)/g)].map(([, name = '', number]) => [name, Number(number)]));
  };

  it('stand for the same calls on both architectures', () => {
    expect([...tableOf('aarch64').keys()].toSorted()).toEqual([...tableOf('x86_64').keys()].toSorted());
  });

  it.each([
    ['x86_64', 'x64'],
    ['aarch64', 'arm64'],
  ] as const)('equal the numbers of the kernel on %s', (machine, architecture) => {
    const table = tableOf(machine);
    expect(table.size).toBeGreaterThan(0);
    expect(table).toEqual(resolved(architecture, [...table.keys()]));
  });
});
