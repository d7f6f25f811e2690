/** Programs with known verdicts, at a service whose processors are all busy: every verdict must be the known one. */
import { availableParallelism } from 'node:os';
import type { ServiceClient } from '@vouchbox/client';
import { Service } from '../crossings/service.ts';
import { keepBusy } from './busy.ts';
import { type Claim, Findings, type Place } from './claim.ts';
import { type GradedProgram, graded } from './gradings.ts';
import { type KnownProgram, knownPrograms, knownTests, LIMITS } from './known-programs.ts';

const testsOfEach = 30;

export const KNOWN_VERDICTS: Claim = {
  name: 'verdicts',
  what: 'programs with known verdicts are judged so while every processor is busy',
  async show(place) {
    const processors = availableParallelism();
    const settings = { provider: 'namespace', 'runtime-packs-dir': place.packs, concurrency: String(processors) };
    await using service = await Service.start(['alpha'], settings);
    await using _ = keepBusy(processors);
    return await judgeKnown(service.client('alpha'), { ...place, tests: testsOfEach, url: service.url });
  },
};

/** Sends all programs in one request. */
export async function judgeKnown(
  client: ServiceClient,
  { programs, tests, seed, url }: Pick<Place, 'programs' | 'seed'> & { readonly tests: number; readonly url: string },
): Promise<Findings> {
  const found = new Findings();
  const known = knownPrograms(programs, Number(new URL(url).port));
  const asked = knownTests(tests, seed);
  const begun = performance.now();
  const judged = await graded(client, {
    programs: known.map(({ name, language, code }) => ({ name, language, code })),
    tests: asked.map((test) => ({ ...test })),
    limits: LIMITS,
  });
  const seconds = (performance.now() - begun) / 1000;
  const wrong: string[] = [];
  for (const [at, program] of known.entries())
    wrong.push(...(await wrongWords(client, program, judged.programs[at] as GradedProgram)));
  found.problems.push(...wrong);
  found.told.push(
    `${known.length} programs × ${tests} tests, ${wrong.length} wrong verdicts, ` +
      `${Math.round(seconds)} s, ${((known.length * tests) / seconds).toFixed(1)} tests a second, seed ${seed}`,
  );
  return found;
}

async function wrongWords(client: ServiceClient, known: KnownProgram, program: GradedProgram): Promise<string[]> {
  if (program.verdict === null) return [`${known.name}: no verdict: ${program.problem}`];
  const wrong: string[] = [];
  for (const [at, { verdict, run }] of program.verdict.tests.entries()) {
    const right = known.verdictOf(at);
    if (verdict === right) continue;
    const end = run === null ? 'it was not run' : await endOf(client, run.job_id);
    wrong.push(`${known.name}, test ${at}: ${verdict} in place of ${right}; ${end}`);
  }
  return wrong;
}

async function endOf(client: ServiceClient, job_id: string): Promise<string> {
  const { terminal_reason, exit_code, receipt } = await client.detail(job_id);
  const { stderr } = await client.result(job_id);
  const usage = JSON.stringify(receipt?.resource_usage ?? null);
  return `${job_id} ended ${terminal_reason} ${exit_code}, ${usage}, ${JSON.stringify(stderr.slice(-200))}`;
}
