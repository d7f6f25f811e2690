/**
 * Faults that users once found in the judging. Each is tried in the way it was found: by the command, a request or an adapter.
 */
import { availableParallelism } from 'node:os';
import type { GradingSubmission } from '@vouchbox/client';
import { keepBusy } from './busy.ts';
import { type Claim, Findings } from './claim.ts';
import { isAll, SUM, sumTests } from './compiled-cost.ts';
import { detailsOf, type GradedProgram, graded, processorOf, wordsOf } from './gradings.ts';
import { type JudgingService, openJudgingService } from './judging-service.ts';

const COMPILED = [{ language: 'cpp', code: SUM }];
/** Limits that are enough for a program that adds two numbers, and not enough for its compiler. */
const ofTheProgram = { milliseconds: 100, bytes: 20 * 2 ** 20 };

type Asked = Omit<GradingSubmission, 'verdict'>;

async function one({ client }: JudgingService, asked: Asked): Promise<GradedProgram> {
  const { programs } = await graded(client, asked);
  return programs[0] as GradedProgram;
}

function claim(
  name: string,
  what: string,
  show: (service: JudgingService, found: Findings) => Promise<void>,
  provider: 'namespace' | 'gvisor' = 'namespace',
): Claim {
  return {
    name,
    what,
    async show({ packs }) {
      const found = new Findings();
      await using service = await openJudgingService(packs, provider);
      await show(service, found);
      return found;
    },
  };
}

/** Runs the same tests by a request and by the command. Both must accept all of them. */
async function acceptedBothWays(
  service: JudgingService,
  found: Findings,
  { asked, options }: { readonly asked: Asked; readonly options: readonly string[] },
): Promise<void> {
  await found.tried('by a request', async () => {
    const program = await one(service, asked);
    const words = wordsOf(program);
    found.holds('by a request', words.length === asked.tests.length && isAll(words, 'accepted'), words);
    tellRuns(found, program);
  });
  await found.tried('by vouchbox grade', async () => {
    const { code } = asked.programs[0] as { code: string };
    const files = { code, tests: asked.tests as { name: string; stdin: string; expected: string }[] };
    const words = await service.gradeByCommand(files, ...options);
    found.holds('by vouchbox grade', words.length === asked.tests.length && isAll(words, 'accepted'), words);
  });
}

/** Notes the usage of the tests, as the verdict states it. */
function tellRuns(found: Findings, { verdict }: GradedProgram): void {
  const runs = verdict?.tests.map(({ run }) => run) ?? [];
  const most = (figure: 'cpu_ms' | 'memory_peak_bytes') => Math.max(...runs.map((run) => run?.[figure] ?? Number.NaN));
  if (Number.isNaN(most('cpu_ms'))) return void found.told.push('the verdict has no time of its tests');
  found.told.push(
    `a test took ${most('cpu_ms')} ms and ${(most('memory_peak_bytes') / 2 ** 20).toFixed(1)} MiB at most`,
  );
}

const LINES = Array.from({ length: 12_000 }, (_, at) => `${at}\n`).join('');
const LARGE = `${'x'.repeat(449)}\n`.repeat(1000);
const LONG_INPUT = `${'1 '.repeat(600_000)}\n`;

const limitedTo = (limits: Record<string, number>) => ({
  asked: { programs: COMPILED, tests: sumTests(3), limits },
  options: Object.entries(limits).flatMap(([name, value]) => ['--limit', `${name}=${value}`]),
});

const judge0 = (service: JudgingService, more: object) =>
  service.post('judge0', '/submissions?wait=true', {
    language_id: 54,
    source_code: SUM,
    stdin: '3 4',
    expected_output: '7',
    ...more,
  });

async function byAdapters(service: JudgingService, found: Findings): Promise<void> {
  for (const cpu_time_limit of [1, 2]) {
    const { status, time, memory } = await judge0(service, { cpu_time_limit });
    found.holds(`Judge0 with cpu_time_limit ${cpu_time_limit}`, status?.id === 3, status);
    const isSmall = Number(time) * 1000 < ofTheProgram.milliseconds && memory * 1024 < ofTheProgram.bytes;
    found.holds('Judge0 states what the program took', isSmall, { time, memory });
  }
  const piston = { language: 'c++', version: '*', files: [{ content: SUM }], stdin: '3 4', run_timeout: 3000 };
  const answer = await service.post('piston', '/api/v2/execute', { ...piston, compile_timeout: 60_000 });
  found.holds('Piston', answer.run?.stdout === '7\n' && answer.compile?.code === 0, answer);
  // The source differs, because a program that was built before is not built again, whatever the limit.
  const other = { files: [{ content: `${SUM}//` }], compile_timeout: 50 };
  const hurried = await service.post('piston', '/api/v2/execute', { ...piston, ...other });
  found.holds('Piston with a compile_timeout that is too short', hurried.compile?.status === 'TO', hurried);
  const run = { language: 'cpp', code: SUM, stdin: '3 4', compile_timeout: 60, run_timeout: 1 };
  const fusion = await service.post('sandbox-fusion', '/run_code', run);
  const isRun = fusion.compile_result?.return_code === 0 && fusion.run_result?.stdout === '7\n';
  found.holds('SandboxFusion', isRun && fusion.run_result.execution_time < 1, fusion);
}

/** Runs ten tests with the usual limits, while eight busy processes compete for each processor. */
async function onABusyHost(service: JudgingService, found: Findings): Promise<void> {
  await using _ = keepBusy(8 * availableParallelism());
  const program = await one(service, { programs: COMPILED, tests: sumTests(10) });
  const words = wordsOf(program);
  found.holds('10 tests with the usual limits', words.length === 10 && isAll(words, 'accepted'), words);
  const builds = await detailsOf(service.client, program, 'build');
  found.told.push(`${builds.length} builds took ${processorOf(builds)} ms of processor time`);
}

const CHECKER = `#include "testlib.h"
int main(int argc, char *argv[]) {
    registerTestlibCmd(argc, argv);
    long said = ouf.readLong(), right = ans.readLong();
    if (said == right) quitf(_ok, "right");
    if (said * 2 == right) quitp(2, "half");
    quitf(_wa, "wrong");
}
`;
const VALIDATOR = 'import sys; sys.exit(0 if all(map(str.isdigit, input().split())) else 3)';
const GUESSES = `low, high = 0, 100
while True:
    guess = (low + high) // 2
    print(guess, flush=True)
    said = input()
    if said == "right": break
    low, high = (guess + 1, high) if said == "more" else (low, guess - 1)`;
const ANSWERS = `import sys
wanted = int(open(sys.argv[1]).read())
for _ in range(10):
    guess = int(input())
    print("right" if guess == wanted else "more" if guess < wanted else "less", flush=True)
    if guess == wanted: sys.exit(42)
sys.exit(43)`;

async function whatJudgesNeed(service: JudgingService, found: Findings): Promise<void> {
  await found.tried('groups, points, a checker and a validator', () => grouped(service, found));
  await found.tried('an interactor', async () => {
    const asked = {
      programs: [{ language: 'python', code: GUESSES }],
      tests: [{ name: 'one', stdin: '37' }],
      interactor: { language: 'python', code: ANSWERS, codes: 'kattis' },
    };
    const words = wordsOf(await one(service, asked as Asked));
    found.holds('an interactor', isAll(words, 'accepted'), words);
  });
}

async function grouped(service: JudgingService, found: Findings): Promise<void> {
  const HALF = 'a, b = map(int, input().split())\nprint((a + b) // 2 if a > 10 else a + b if a < 5 else 1)';
  const program = await one(service, {
    programs: [{ language: 'python', code: HALF }],
    tests: [
      { name: '1', group: 'small', stdin: '1 2', expected: '3', points: 2 },
      { name: '2', group: 'large', stdin: '20 2', expected: '22', points: 4 },
      { name: '3', group: 'large', stdin: '7 2', expected: '9' },
      { name: '4', group: 'large', stdin: '3 2', expected: '5' },
      { name: '5', group: 'last', stdin: '3 2', expected: '5' },
      { name: '6', group: 'small', stdin: '3 x', expected: '5', points: 0 },
    ],
    groups: [{ name: 'small' }, { name: 'large', stop: true }, { name: 'last', after: ['large'] }],
    checker: { language: 'cpp', code: CHECKER },
    validators: [{ language: 'python', code: VALIDATOR }],
  });
  const words = wordsOf(program);
  const right = ['accepted', 'partial', 'wrong_answer', 'skipped', 'skipped', 'invalid_input'];
  found.holds('words', words.join() === right.join(), words);
  const { points, points_max, tests } = program.verdict ?? {};
  found.holds('points', points === 4 && points_max === 9, { points, points_max });
  const run = tests?.[0]?.run;
  const isKnown = [run?.cpu_ms, run?.wall_ms, run?.memory_peak_bytes].every((figure) => Number(figure) > 0);
  found.holds('time and memory of a test', isKnown && run?.account === 'cell', run);
  const [builds, checks] = [
    await detailsOf(service.client, program, 'build checker'),
    await detailsOf(service.client, program, 'check '),
  ];
  const ofChecks = processorOf(checks) / Math.max(1, checks.length);
  const isBuiltOnce = builds.length === 1 && checks.length === 3 && ofChecks < ofTheProgram.milliseconds;
  found.holds('the checker is compiled once', isBuiltOnce, { builds: builds.length, checks: checks.length, ofChecks });
}

async function longInput(service: JudgingService, found: Findings): Promise<void> {
  const code = 'print(sum(map(int, input().split())))';
  await found.tried('by digest', async () => {
    const { blob } = await service.client.upload(LONG_INPUT);
    const tests = [{ name: 'one', stdin: { blob }, expected: '600000' }];
    const words = wordsOf(await one(service, { programs: [{ language: 'python', code }], tests }));
    found.holds('by digest', isAll(words, 'accepted'), words);
  });
  await found.tried('by vouchbox grade', async () => {
    const words = await service.gradeByCommand({
      code,
      tests: [{ name: 'one', stdin: LONG_INPUT, expected: '600000' }],
    });
    found.holds('by vouchbox grade', isAll(words, 'accepted'), words);
  });
}

/** Gives an output of a job to another job, once by the job's name and once by the digest. */
async function outputAsInput({ client }: JudgingService, found: Findings): Promise<void> {
  const made = await client.run('printf made > output/made', { language: 'bash', outputs: ['output/made'] });
  const [artifact] = (await client.result(made.job_id)).artifacts;
  const givens = [{ from: { job_id: made.job_id, path: 'output/made' } }, { blob: `sha256:${artifact?.sha256}` }];
  for (const given of givens) {
    await found.tried(`named by ${Object.keys(given)[0]}`, async () => {
      const files = [{ path: 'input/made', ...given }];
      const { job_id } = await client.submit({ language: 'bash', code: 'cat input/made', files } as never);
      const { stdout } = await client.waitForResult(job_id);
      found.holds('the file', stdout === 'made', stdout);
    });
  }
}

const python = (code: string) => [{ language: 'python', code }];
const numbered = (count: number, expected: string) =>
  Array.from({ length: count }, (_, at) => ({ name: `${at + 1}`, stdin: '', expected }));

export const REPORTED_CASES: readonly Claim[] = [
  claim('J1', 'a right program with <bits/stdc++.h> is accepted within a second', (service, found) =>
    acceptedBothWays(service, found, limitedTo({ cpu_seconds: 1 })),
  ),
  claim('J2', 'it is accepted within 64 MiB', (service, found) =>
    acceptedBothWays(service, found, limitedTo({ mem_mb: 64 })),
  ),
  claim('J3', 'a crowded host changes no verdict of it in the class of gVisor', onABusyHost, 'gvisor'),
  claim('J4', 'the adapters say what the program took, and not its compiler', byAdapters),
  claim('J5', '12,000 lines of output are judged', (service, found) =>
    acceptedBothWays(service, found, {
      asked: { programs: python('for at in range(12000): print(at)'), tests: numbered(1, LINES) },
      options: [],
    }),
  ),
  claim('J6', 'three outputs of 450 kB are judged', (service, found) =>
    acceptedBothWays(service, found, {
      asked: { programs: python('for _ in range(1000): print("x" * 449)'), tests: numbered(3, LARGE) },
      options: [],
    }),
  ),
  claim('J7', 'an input of 1.2 MB is given to a program', longInput),
  claim('J8', 'groups, partial points, checkers, validators and interactors are there', whatJudgesNeed),
  claim('J9', 'an output of a job is an input of another', outputAsInput),
];
