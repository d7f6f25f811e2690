/** What it costs to run a program through the service, compared with the bare interpreter on the same host. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type EmbeddedService, openEmbeddedService } from 'vouchbox/embedded-service';
import { type Measurement, median } from './measurement.ts';

const run = promisify(execFile);

/** The contract's languages. Every host has them. */
const PROGRAMS = {
  python: { code: 'print("hello")', command: ['/usr/bin/python3', '-c'] },
  node: { code: 'console.log("hello")', command: [process.execPath, '-e'] },
  bash: { code: 'echo hello', command: ['/bin/bash', '-c'] },
} satisfies Readonly<Record<string, { code: string; command: [string, string] }>>;
type Measured = keyof typeof PROGRAMS;

const singles = 20;
const together = 100;

/** For each language, measures one job at a time, from submission to result, and many jobs at once. */
export async function measure(): Promise<readonly Measurement[]> {
  await using service = await openEmbeddedService();
  const { isolation_class } = await service.client.capabilities();
  const measurements: Measurement[] = [];
  for (const language of Object.keys(PROGRAMS) as Measured[]) {
    measurements.push(
      await oneAtATime(service, language, isolation_class ?? 'none'),
      await allAtOnce(service, language),
    );
  }
  return measurements;
}

async function oneAtATime({ client }: EmbeddedService, language: Measured, isolation: string): Promise<Measurement> {
  const { code, command } = PROGRAMS[language];
  const job = async () => {
    const { job_id } = await client.submit({ language, code });
    expectHello((await client.waitForResult(job_id)).stdout);
  };
  const bare = async () => expectHello((await run(command[0], [command[1], code])).stdout);
  const [value, baseline] = [await medianOf(job), await medianOf(bare)];
  const what = `${language}, one at a time (${isolation})`;
  return { what, value, unit: 'ms', baseline: { what: 'bare interpreter', value: baseline } };
}

async function allAtOnce({ client }: EmbeddedService, language: Measured): Promise<Measurement> {
  const { code, command } = PROGRAMS[language];
  const value = await perSecond(async () => {
    const jobs = await Promise.all(Array.from({ length: together }, () => client.submit({ language, code })));
    for (const { job_id } of jobs) expectHello((await client.waitForResult(job_id)).stdout);
  });
  const baseline = await perSecond(async () => {
    await Promise.all(Array.from({ length: together }, () => run(command[0], [command[1], code])));
  });
  return {
    what: `${language}, ${together} at once`,
    value,
    unit: '/s',
    baseline: { what: 'bare interpreter', value: baseline },
  };
}

/** Fails if the output is wrong. A figure for wrong output would mean nothing. */
function expectHello(stdout: string): void {
  if (stdout !== 'hello\n') throw new Error(`a program gave ${JSON.stringify(stdout)} in place of hello`);
}

async function medianOf(work: () => Promise<void>): Promise<number> {
  const durations: number[] = [];
  for (let index = 0; index < singles; index++) durations.push(await milliseconds(work));
  return median(durations);
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  return together / ((await milliseconds(work)) / 1000);
}

async function milliseconds(work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
