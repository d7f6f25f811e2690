/**
 * The specification of a canary's job. Every language and pack gets the same program: `canary.c`, built without a library
 * and given as a file. The code in each language only starts that file, so a pack needs no Python.
 */
import { readFileSync } from 'node:fs';
import { type Language, LIMIT_DEFAULTS, type RequestedLimits, type RequestedSpec } from '@vouchbox/protocol';
import { nativePath } from '../../sandbox/native/native.ts';

const FILE = 'input/canary';

/** The program that starts the canary. It is the same in C and C++. */
const IN_C = `#include <fcntl.h>
#include <unistd.h>
int main(int, char **words) {
  static char bytes[1 << 20];
  int from = open("${FILE}", O_RDONLY), to = open("canary", O_CREAT | O_WRONLY, 0700);
  long size = read(from, bytes, sizeof bytes);
  if (size <= 0 || write(to, bytes, size) != size || close(to) != 0) return 2;
  return execv("canary", words);
}
`;

const IN_JAVASCRIPT = `copyFileSync('${FILE}', 'canary');
chmodSync('canary', 0o700);
spawnSync('./canary', process.argv.slice(2), { stdio: 'inherit' });
`;

/** How each language starts the program: from a copy, because a job's input can only be read, not executed. */
const STARTS: Readonly<Record<Language, string>> = {
  python: `import os, shutil, sys
shutil.copyfile('${FILE}', 'canary')
os.chmod('canary', 0o700)
os.execv('canary', ['canary', *sys.argv[1:]])
`,
  bash: `cp ${FILE} canary && chmod 700 canary && exec ./canary "$@"\n`,
  node: `const { chmodSync, copyFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
${IN_JAVASCRIPT}`,
  ruby: `require 'fileutils'
FileUtils.cp('${FILE}', 'canary')
File.chmod(0700, 'canary')
exec('./canary', *ARGV)
`,
  lua: `os.execute('cp ${FILE} canary && chmod 700 canary && exec ./canary ' .. table.concat(arg, ' '))\n`,
  php: `<?php
copy('${FILE}', 'canary');
chmod('canary', 0700);
passthru('exec ./canary ' . implode(' ', array_slice($argv, 1)));
`,
  r: `invisible(file.copy('${FILE}', 'canary'))
Sys.chmod('canary', '0700')
invisible(system2('./canary', commandArgs(TRUE)))
`,
  typescript: `import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync } from 'node:fs';
${IN_JAVASCRIPT}`,
  c: IN_C,
  cpp: IN_C,
  java: `import java.nio.file.*;
import java.util.*;
public class Main {
    public static void main(String[] words) throws Exception {
        Files.copy(Path.of("${FILE}"), Path.of("canary"));
        Path.of("canary").toFile().setExecutable(true);
        List<String> command = new ArrayList<>(List.of("./canary"));
        command.addAll(List.of(words));
        System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
    }
}
`,
};

/** Languages in the order in which a canary prefers them, the cheapest to start first. */
const PREFERRED = Object.keys(STARTS) as Language[];

const CANARY_LIMITS = { mem_mb: 128, compiledMemMb: 512, max_pids: 64 };
const COMPILED: ReadonlySet<Language> = new Set(['java', 'c', 'cpp', 'typescript']);
/** How many MiB above the memory limit the canary tries to use. A cell that enforces the limit refuses them. */
const memMbTooMany = 32;

/** A pack to try. */
export interface CanaryPack {
  readonly name: string;
  readonly languages: readonly Language[];
}

/** A canary's specification; null for a pack without a known language. */
export function canarySpec(
  { name, languages }: CanaryPack,
  { ceilings, minimum_isolation }: { readonly ceilings: RequestedLimits } & RequestedSpec['requirements'],
): RequestedSpec | null {
  const language = PREFERRED.find((known) => languages.includes(known));
  if (language === undefined) return null;
  const isCompiled = COMPILED.has(language);
  const mem_mb = Math.min(isCompiled ? CANARY_LIMITS.compiledMemMb : CANARY_LIMITS.mem_mb, ceilings.mem_mb);
  const max_pids = Math.min(CANARY_LIMITS.max_pids, ceilings.max_pids);
  return {
    language,
    code: STARTS[language],
    stdin: null,
    args: [String(max_pids), String(mem_mb + memMbTooMany)],
    env: {},
    files: [{ path: FILE, content_base64: probe() }],
    outputs: [],
    runtime: name,
    requirements: { minimum_isolation },
    limits: { ...LIMIT_DEFAULTS, ...heldBy(ceilings), mem_mb, max_pids },
  };
}

/** The time limits of a canary's job: as much as any job may have, up to 30 seconds, because some hosts compile slowly. */
function heldBy({ wall_seconds, cpu_seconds }: RequestedLimits) {
  return { wall_seconds: Math.min(30, wall_seconds), cpu_seconds: Math.min(30, cpu_seconds) };
}

let kept: string | undefined;

function probe(): string {
  kept ??= readFileSync(nativePath('svc-canary')).toString('base64');
  return kept;
}
