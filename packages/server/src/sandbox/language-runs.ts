/**
 * How a program of each language is run: the file that it is written to, what waits in a cell for it, what compiles it
 * first, and which Debian packages a runtime pack has for it. A further language is a row here, a canary and a recipe.
 */
import type { Language } from '@vouchbox/protocol';

export interface LanguageRun {
  /** The program's file below `/work`. A node program is renamed inside its cell to `main.mjs` or `main.cjs`. */
  readonly source: string;
  /** The guest program that waits and then runs the program: in an interpreter that is up already, or as a command. */
  readonly launcher: 'launch.py' | 'launch.cjs' | 'launch.sh';
  /** What `launch.sh` becomes. `{work}` stands for `/work`, `{heap_mb}` for the heap of a runtime that wants to know one. */
  readonly command: readonly string[];
  /** What is run first, without the program's stdin; only where it succeeds does the program run. */
  readonly compiler: readonly string[] | null;
  /** Where it is not the pack's own `perl-base` and `bash`, which every pack has. */
  readonly packages: readonly string[];
}

const command = (source: string, words: readonly string[], packages: readonly string[]): LanguageRun => ({
  source,
  launcher: 'launch.sh',
  command: [...words, `{work}/${source}`],
  compiler: null,
  packages,
});

/** A program that a compiler writes: below `/tmp`, so that `/work` holds only the program's own files. */
const compiled = (source: string, compiler: readonly string[], packages: readonly string[]): LanguageRun => ({
  source,
  launcher: 'launch.sh',
  command: ['/tmp/main'],
  compiler: [...compiler, '-O2', '-pthread', '-o', '/tmp/main', source, '-lm'],
  packages,
});

const NODE = { launcher: 'launch.cjs', command: [], compiler: null, packages: ['libstdc++6', 'libatomic1'] } as const;
/** Only what starts quickly: a compiler of one small program ends before a thorough optimisation would pay. */
const JAVAC_OPTION = '-XX:TieredStopAtLevel=1';
const JAVA_OPTIONS = ['-Xmx{heap_mb}m', '-XX:+UseSerialGC', '-XX:-UsePerfData'];

export const LANGUAGE_RUNS: Readonly<Record<Language, LanguageRun>> = {
  python: { source: 'main.py', launcher: 'launch.py', command: [], compiler: null, packages: ['python3'] },
  node: { source: 'main.js', ...NODE },
  bash: command('main.sh', ['/bin/bash'], []),
  typescript: { source: 'main.ts', ...NODE },
  ruby: command('main.rb', ['/usr/bin/ruby'], ['ruby']),
  php: command('main.php', ['/usr/bin/php'], ['php-cli']),
  lua: command('main.lua', ['/usr/bin/lua5.4'], ['lua5.4']),
  r: command('main.R', ['/usr/bin/Rscript', '--vanilla'], ['r-base-core']),
  java: {
    source: 'Main.java',
    launcher: 'launch.sh',
    command: ['/usr/bin/java', ...JAVA_OPTIONS, '-cp', '/tmp/classes', 'Main'],
    // An annotation processor would be the program's own code, run as if it were the compiler.
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

/** The languages of the `system` pack, which are those that a host of this service has anyway. */
export const SYSTEM_LANGUAGES = ['python', 'node', 'bash', 'typescript'] as const satisfies readonly Language[];
