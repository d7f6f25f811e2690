/** The processor time of 20 tests of a compiled program, compared with one compilation and 20 runs without cells. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceClient } from '@vouchbox/client';
import { Service } from '../crossings/service.ts';
import { filesOfGrading, problemsOf } from '../rig/drive-grading.ts';
import { type Claim, Findings } from './claim.ts';
import { detailsOf, type GradedProgram, graded, processorOf, wordsOf } from './gradings.ts';
import { bareProcessor, startedProcessor } from './processor.ts';

/** A program that adds two numbers. Only its header makes it slow to compile. */
export const SUM =
  '#include <bits/stdc++.h>\nint main() { long a, b; std::cin >> a >> b; std::cout << a + b << "\\n"; }\n';

export function sumTests(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    name: `${at + 1}`,
    stdin: `${at} ${at * at}\n`,
    expected: `${at + at * at}\n`,
  }));
}

const tests = 20;
/** The most processor time that the tests may take, as a multiple of one compilation and all bare runs together. */
const factorMax = 1.2;

export const COMPILED_COST: Claim = {
  name: 'compiled',
  what: `${tests} tests of a program with <bits/stdc++.h> take less than ${factorMax} × one compilation and ${tests} bare runs`,
  async show({ packs }) {
    const found = new Findings();
    const before = await bareCost(packs);
    await using service = await Service.start(['alpha'], { provider: 'namespace', 'runtime-packs-dir': packs });
    const client = service.client('alpha');
    const started = startedProcessor();
    const { grading_id, programs } = await graded(client, {
      programs: [{ language: 'cpp', code: SUM }],
      tests: sumTests(tests),
      limits: { cpu_seconds: 10 },
    });
    const all = startedProcessor() - started;
    const after = await bareCost(packs);
    const [program] = programs as [GradedProgram];
    const words = wordsOf(program);
    found.holds(`all ${tests} tests are accepted`, words.length === tests && isAll(words, 'accepted'), words);
    const bare = { compiled: (before.compiled + after.compiled) / 2, ran: (before.ran + after.ran) / 2 };
    await compare(client, { program, bare, all, found });
    found.problems.push(...(await problemsOf(client, await filesOfGrading(client, grading_id))));
    return found;
  },
};

export function isAll(words: readonly string[], word: string): boolean {
  return words.every((one) => one === word);
}

/** Processor time in milliseconds, without a cell. */
interface BareCost {
  readonly compiled: number;
  /** The time of all runs together. */
  readonly ran: number;
}

/** Compiles with the compiler of the pack, called as in a cell, and runs the program. */
async function bareCost(packs: string): Promise<BareCost> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-judging-'));
  try {
    const tree = join(packs, 'c', readdirSync(join(packs, 'c'))[0] ?? '', 'tree');
    const [source, product] = [join(directory, 'main.cpp'), join(directory, 'main')];
    writeFileSync(source, SUM);
    const words = ['/usr/bin/g++', '-std=gnu++20', '-O2', '-pthread', '-o', product, source, '-lm'];
    if (!existsSync(join(tree, 'usr/bin/g++'))) throw new Error(`${tree} has no compiler`);
    const within = ['unshare', '--mount', '/bin/sh', '-c', BINDS, tree, directory, ...words];
    const compiled = await bareProcessor(within);
    return { compiled, ran: await bareProcessor([product], '1 2\n', tests) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Runs a command with the files of the pack in place of the host's. */
const BINDS = `directory=$1; shift
mount --bind "$0/usr" /usr && exec "$@"`;

interface Cost {
  readonly program: GradedProgram;
  readonly bare: BareCost;
  /** Processor time of the service and of all its cells. */
  readonly all: number;
  readonly found: Findings;
}

async function compare(client: ServiceClient, { program, bare, all, found }: Cost): Promise<void> {
  const [builds, runs, others] = [
    await detailsOf(client, program, 'build'),
    await detailsOf(client, program, 'test '),
    await detailsOf(client, program, 'judge'),
  ];
  const [built, ran] = [processorOf(builds), processorOf(runs)];
  const [ours, most] = [built + ran, bare.compiled + bare.ran];
  const factor = ours / most;
  found.holds(`at most ${factorMax} × the bare runs`, factor < factorMax, `${factor.toFixed(2)} ×`);
  const jobs = builds.length + runs.length + others.length;
  const outside = (all - ours - processorOf(others)) / jobs;
  found.told.push(
    `${ms(ours)} of processor time: ${builds.length} builds ${ms(built)}, ${runs.length} tests ${ms(ran)}`,
    `bare: ${ms(most)}: one compilation ${ms(bare.compiled)}, ${tests} runs ${ms(bare.ran)}; factor ${factor.toFixed(2)}`,
    `the fixed cost of a cell: ${ms((ran - bare.ran) / tests)} in its own account beside a bare run, ` +
      `${ms(outside)} of the service and the launcher outside of it`,
    `the judge: ${ms(processorOf(others))}`,
  );
}

function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(1)} ms`;
}
