/**
 * Languages in runtime packs, from the shipped recipes. Every run builds two packs, for an interpreted and a compiled
 * language, in one class. `npm run packs` also builds the others; the first time, this takes some minutes.
 */
import type { JobSubmission } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { shippedPacks } from '../../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { hasEveryPack } from '../rig/form.ts';
import { useRig } from '../rig/rig.ts';

const { packs } = await shippedPacks(hasEveryPack ? ['lua', 'c', 'ruby', 'php', 'r', 'java'] : ['lua', 'c']);

/** Each program prints its two arguments, a variable and its stdin, and writes an output. */
const PROGRAMS: Readonly<Record<string, string>> = {
  lua: 'print(arg[1], arg[2], os.getenv("A"), io.read("a")); local f = io.open("output/f", "w"); f:write("o"); f:close()',
  c: `#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
  char line[99];
  printf("%s\\t%s\\t%s\\t%s\\n", words[1], words[2], getenv("A"), fgets(line, sizeof line, stdin));
  FILE *f = fopen("output/f", "w");
  return f == NULL || fputs("o", f) < 0 || fclose(f) != 0;
}`,
  cpp: `#include <cstdlib>
#include <fstream>
#include <iostream>
int main(int, char **words) {
  std::string line;
  std::getline(std::cin, line);
  std::cout << words[1] << '\\t' << words[2] << '\\t' << std::getenv("A") << '\\t' << line << std::endl;
  std::ofstream("output/f") << "o";
}`,
  ruby: 'puts [*ARGV, ENV["A"], $stdin.read].join("\\t"); File.write("output/f", "o")',
  php: '<?php echo implode("\\t", [$argv[1], $argv[2], getenv("A"), fgets(STDIN)]), "\\n"; file_put_contents("output/f", "o");',
  r: `cat(commandArgs(TRUE), Sys.getenv("A"), readLines(file("stdin"), warn = FALSE), sep = "\\t"); cat("\\n"); cat("o", file = "output/f")`,
  java: `import java.nio.file.*;
public class Main {
  public static void main(String[] words) throws Exception {
    System.out.println(String.join("\\t", words[0], words[1], System.getenv("A"), new String(System.in.readAllBytes())));
    Files.writeString(Path.of("output/f"), "o");
  }
}`,
};
const languages = Object.keys(PROGRAMS).filter((language) => hasEveryPack || ['lua', 'c', 'cpp'].includes(language));
/** Compilers take long on a shared processor. */
const limits = { wall_seconds: 60, cpu_seconds: 60 };
const given = { args: ['one', 'two words'], env: { A: 'b=c' }, stdin: 'in', outputs: ['output/**'], limits };

describe.each(hasEveryPack ? ['namespace', 'gvisor'] : ['namespace'])('in the class of %s', (provider) => {
  const rig = useRig({ provider, 'runtime-packs-dir': packs });

  test('the capabilities list each language with its pack', async () => {
    const capabilities = await rig().alpha.client.capabilities();
    expect(capabilities.languages).toEqual(expect.arrayContaining(['python', 'node', 'bash', ...languages]));
    expect(capabilities.runtime_packs).toContainEqual(expect.objectContaining({ name: 'c', languages: ['c', 'cpp'] }));
  });

  test("the program's usage in the receipt excludes the compiler's usage", { tags: ['Receipt-30b'] }, async () => {
    const { receipt } = (await rig().run({ language: 'c', code: PROGRAMS['c'] ?? '', ...given })).detail;
    const { resource_usage: job, program_usage: program } = receipt ?? {};
    expect(program?.account).toBe(provider === 'gvisor' ? 'guest' : 'cell');
    expect(program?.cpu_ms).toBeLessThan(job?.cpu_ms ?? 0);
    expect(program?.wall_ms).toBeLessThan(job?.wall_ms ?? 0);
    expect(program?.memory_peak_bytes).toBeNull();
    const failed = (await rig().run({ language: 'c', code: 'no', limits })).detail.receipt;
    expect([failed?.resource_usage?.cpu_ms, failed?.program_usage]).toEqual([expect.any(Number), undefined]);
  });

  test.each(languages)(
    'a program in %s runs without a named pack, and its receipt names the pack',
    async (language) => {
      const { result, detail } = await rig().run({ language, code: PROGRAMS[language] ?? '', ...given });
      expect([result.stderr, result.stdout, result.status]).toEqual(['', 'one\ttwo words\tb=c\tin\n', 'succeeded']);
      expect(result.artifacts.map(({ path }) => path)).toEqual(['output/f']);
      expect(detail.receipt).toMatchObject({
        runtime: null,
        runtime_pack: { name: language === 'cpp' ? 'c' : language },
      });
    },
  );

  const compiled: JobSubmission = { language: 'c', code: 'int main(void) { return 3; }', limits };

  test('a compiled program that exits with 3 is reported as exited, not as a compile error', async () => {
    const { result, detail } = await rig().run(compiled);
    expect([result.status, result.exit_code, result.violations]).toEqual(['failed', 3, []]);
    expect(detail.terminal_reason).toBe('exited');
  });

  test("a program that does not compile fails with compile_failed and the compiler's message", async () => {
    const { result, detail } = await rig().run({ ...compiled, code: 'int main(void) { return missing; }' });
    expect([result.status, result.exit_code, detail.terminal_reason]).toEqual(['failed', null, 'compile_failed']);
    expect(result.stderr).toContain('‘missing’ undeclared');
    const message = 'the compiler exited with 1: the program did not run';
    expect(result.violations).toEqual([{ type: 'compile', message, phase: 'compile' }]);
  });

  test('a limit that ends the compiler is reported as a compiler limit', async () => {
    const code = `template <int N, int M> struct F { static const long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };
template <int M> struct F<0, M> { static const long v = M; };
int main() { return F<30, 1>::v; }`;
    const job = { language: 'cpp', code, limits: { wall_seconds: 1.5, mem_mb: 1024 } };
    const { result } = await rig().run(job);
    expect([result.status, result.violations]).toMatchObject(['timed_out', [{ type: 'wall_time', phase: 'compile' }]]);
  });

  test("a source that includes /dev/stdin gets an empty file, and the program reads the job's stdin", async () => {
    const code = '#include "/dev/stdin"\n#include <stdio.h>\nint main(void) { putchar(getchar()); return 0; }';
    const { result } = await rig().run({ ...compiled, code, stdin: 'x' });
    expect([result.stderr, result.stdout]).toEqual(['', 'x']);
  });
});

describe('without the packs', () => {
  const rig = useRig();

  test('a known language without its pack is refused with runtime_unavailable', async () => {
    const answer = await rig().post({ language: 'ruby', code: 'puts 1' });
    expect([answer.status, answer.json.error.code]).toEqual([422, 'runtime_unavailable']);
  });
});
