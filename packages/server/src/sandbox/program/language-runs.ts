/**
 * How a program of each language is run: the file of the program, the command that waits in a cell, the command that
 * compiles it, and the Debian packages of its runtime pack. CONTRIBUTING lists what else another language needs.
 */
import type { Language } from '@vouchbox/protocol';

/** The fixed environment of a program. The `system` pack sets no other variables. */
export const ENVIRONMENT: readonly string[] = [
  'PATH=/opt/svc/bin:/usr/local/bin:/usr/bin:/bin',
  'HOME=/tmp',
  'TMPDIR=/tmp',
  'USER=runner',
  'LOGNAME=runner',
  'LANG=C.UTF-8',
  'PYTHONUNBUFFERED=1',
  'MPLCONFIGDIR=/tmp/matplotlib',
];

/**
 * Variables for a job that asks to be reproducible. In most other languages, the order of iteration depends on no seed.
 * Lua and Java's immutable sets have a seed, but no variable sets it.
 */
export const FIXED_SEEDS: readonly string[] = ['PYTHONHASHSEED=0', 'PERL_HASH_SEED=0', 'PERL_PERTURB_KEYS=0'];

export interface LanguageRun {
  /** The program's file below `/work`. A node program is renamed inside its cell to `main.mjs` or `main.cjs`. */
  readonly source: string;
  /** The guest program that waits, and then runs the program either in an interpreter that already runs or as a command. */
  readonly guest: 'launch.py' | 'launch.cjs' | 'launch.sh';
  /**
   * The command that `launch.sh` executes. `{work}` stands for `/work`, `{heap_mb}` for the heap size of a runtime that
   * takes one.
   */
  readonly command: readonly string[];
  /** The command that runs first, without the program's stdin. The program runs only if this command succeeds. */
  readonly compiler: readonly string[] | null;
  /** The packages that the language needs besides `perl-base` and `bash`, which every pack has. */
  readonly packages: readonly string[];
}

const command = (source: string, words: readonly string[], packages: readonly string[]): LanguageRun => ({
  source,
  guest: 'launch.sh',
  command: [...words, `{work}/${source}`],
  compiler: null,
  packages,
});

/** A program that a compiler writes below `/tmp`, so that `/work` holds only the program's own files. */
const compiled = (source: string, compiler: readonly string[], packages: readonly string[]): LanguageRun => ({
  source,
  guest: 'launch.sh',
  command: ['/tmp/main'],
  compiler: [...compiler, '-O2', '-pthread', '-o', '/tmp/main', source, '-lm'],
  packages,
});

const NODE = { guest: 'launch.cjs', command: [], compiler: null, packages: ['libstdc++6', 'libatomic1'] } as const;
/** Keeps the Java compiler in its fast first tier: compiling a small program ends before thorough optimisation pays off. */
const JAVAC_OPTION = '-XX:TieredStopAtLevel=1';
const JAVA_OPTIONS = ['-Xmx{heap_mb}m', '-XX:+UseSerialGC', '-XX:-UsePerfData'];

export const LANGUAGE_RUNS: Readonly<Record<Language, LanguageRun>> = {
  python: { source: 'main.py', guest: 'launch.py', command: [], compiler: null, packages: ['python3'] },
  node: { source: 'main.js', ...NODE },
  bash: command('main.sh', ['/bin/bash'], []),
  typescript: { source: 'main.ts', ...NODE },
  ruby: command('main.rb', ['/usr/bin/ruby'], ['ruby']),
  php: command('main.php', ['/usr/bin/php'], ['php-cli']),
  lua: command('main.lua', ['/usr/bin/lua5.4'], ['lua5.4']),
  r: command('main.R', ['/usr/bin/Rscript', '--vanilla'], ['r-base-core']),
  java: {
    source: 'Main.java',
    guest: 'launch.sh',
    command: ['/usr/bin/java', ...JAVA_OPTIONS, '-cp', '/tmp/classes', 'Main'],
    // Without `-proc:none`, the program's own code could run inside the compiler, as an annotation processor.
    compiler: [
      '/usr/bin/javac',
      ...[...JAVA_OPTIONS, JAVAC_OPTION].map((option) => `-J${option}`),
      '-proc:none',
      '-d',
      '/tmp/classes',
      'Main.java',
    ],
    packages: ['default-jdk-headless'],
  },
  c: compiled('main.c', ['/usr/bin/gcc', '-std=gnu17'], ['gcc', 'libc6-dev']),
  cpp: compiled('main.cpp', ['/usr/bin/g++', '-std=gnu++20'], ['g++', 'libc6-dev']),
};

/** The languages of the `system` pack, which every host of this service has. */
export const SYSTEM_LANGUAGES = ['python', 'node', 'bash', 'typescript'] as const satisfies readonly Language[];
