/**
 * How many tests of a compiled C++ program POST /v1/gradings runs per second. The baseline is go-judge's published method on bare
 * crun: it compiles once, and each test gets a copy of the product and a cell. Compilation counts on neither side: the service
 * keeps the product from an earlier round. In the other baseline, each test is a job that compiles.
 */
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { GradingAnswer, GradingDetail, JobSubmission } from '@vouchbox/protocol';
import type { Verdict2 } from '@vouchbox/protocol/grading-steps';
import { shippedPacks } from '../packages/server/src/sandbox/packs/shipped-packs.fixture.ts';
import { startBareJudge } from './judging/bare-judge.ts';
import { type Measurement, median } from './measurement.ts';
import { driven, KEY, withService } from './speed/bench-service.ts';
import { type JobClient, openJobClient } from './speed/job-client.ts';

const CODE = '#include <bits/stdc++.h>\nint main() { long a, b; std::cin >> a >> b; std::cout << a + b << "\\n"; }\n';
const TESTS = Array.from({ length: 200 }, (_, at) => ({
  name: `${at + 1}`,
  stdin: `${at} ${at * at}\n`,
  expected: `${at + at * at}\n`,
}));
/** How many tests run if every test compiles. More tests would take minutes. */
const FEW = 10;
/** The service runs as many tests at once. It has more slots: cells whose programs have ended are removed meanwhile. */
const workers = availableParallelism();

export async function* measure({ isLong = false }: { readonly isLong?: boolean } = {}): AsyncGenerator<Measurement> {
  const { packs } = await shippedPacks(['c']);
  const flags = { provider: 'namespace', 'runtime-packs-dir': packs };
  const rounds = isLong ? 15 : 7;
  const found = await withService(flags, async ({ port }) => {
    using client = openJobClient({ port, key: KEY });
    using bare = startBareJudge();
    return await compared(client, bare, rounds);
  });
  yield* found;
}

async function compared(
  client: JobClient,
  bare: ReturnType<typeof startBareJudge>,
  rounds: number,
): Promise<readonly Measurement[]> {
  const { built, milliseconds } = await warmed(client);
  const tests = built ? TESTS : TESTS.slice(0, FEW);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    const answer = await bare.order({ code: CODE, tests, workers });
    if (answer.accepted !== tests.length) throw new Error(`the bare judge accepted ${answer.accepted} tests`);
    const mine = await gradedIn(client, tests);
    if (round === 0) continue;
    theirs.push(tests.length / (answer.milliseconds / 1000));
    ours.push(tests.length / (mine / 1000));
  }
  const submission: JobSubmission = { language: 'cpp', code: CODE, stdin: '1 2\n', limits: COMPILING };
  const before = FEW / ((await driven([client], submission, FEW)) / 1000);
  const crun = { what: `crun, ${workers} workers`, value: median(theirs) };
  const state = built ? 'the program is compiled once' : 'NOT compiled once: each test compiles';
  return [
    {
      what: 'tests a second, POST /v1/gradings',
      value: median(ours),
      unit: '/s',
      baseline: crun,
      spread: [Math.min(...ours), Math.max(...ours)],
      target: { ratio: 1, is: 'at least' },
      note: `${tests.length} tests; ${state}; the first grading took ${Math.round(milliseconds)} ms with all compilations`,
    },
    {
      what: 'the same beside jobs that compile each time',
      value: median(ours),
      unit: '/s',
      baseline: { what: 'a job for each test', value: before },
    },
  ];
}

const COMPILING = { cpu_seconds: 30, wall_seconds: 60, mem_mb: 512 };

/** Makes a first grading, and returns whether its program was built once for all tests. */
async function warmed(client: JobClient): Promise<{ readonly built: boolean; readonly milliseconds: number }> {
  const tests = TESTS.slice(0, FEW);
  const started = performance.now();
  const { graded } = await finished(client, await submitted(client, tests));
  const milliseconds = performance.now() - started;
  const { artifacts } = await client.call<{ artifacts: { content_base64: string }[] }>(
    'GET',
    `/v1/jobs/${graded[0]?.verdict?.job_id}/result`,
  );
  const text = Buffer.from(artifacts[0]?.content_base64 ?? '', 'base64').toString();
  const verdict = JSON.parse(text) as Pick<Verdict2, 'program'>;
  return { built: verdict.program.build !== null, milliseconds };
}

async function gradedIn(client: JobClient, tests: typeof TESTS): Promise<number> {
  const started = performance.now();
  const { graded } = await finished(client, await submitted(client, tests));
  const milliseconds = performance.now() - started;
  if (graded[0]?.verdict?.points !== tests.length) throw new Error(`judged otherwise: ${JSON.stringify(graded)}`);
  return milliseconds;
}

async function submitted(client: JobClient, tests: typeof TESTS): Promise<string> {
  const programs = [{ language: 'cpp', code: CODE }];
  const body = { verdict: 'urn:svc:verdict:v2', programs, tests, limits: { cpu_seconds: 10 } };
  return (await client.call<GradingAnswer>('POST', '/v1/gradings', body)).grading_url;
}

async function finished(client: JobClient, url: string): Promise<GradingDetail> {
  for (;;) {
    const detail = await client.call<GradingDetail>('GET', `${url}?wait_seconds=60`);
    if (detail.status === 'finished') return detail;
    if (detail.status !== 'running') throw new Error(`the grading ended ${detail.status}`);
    await pause(0);
  }
}
