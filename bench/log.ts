/**
 * What the log costs: a service that logs and promises every job is compared with a service without a log, in rounds that take
 * turns. It also measures how soon a job has its proof, for a single job and for the last of a thousand jobs at once.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { serveService } from './http/processes.ts';
import { type Measurement, median, percentile } from './measurement.ts';
import { driven, FLAGS, hello, KEY, type ServedCells, scratchDirectory, timedRun } from './speed/bench-service.ts';
import { type JobClient, openJobClient } from './speed/job-client.ts';

const clientsCount = 8;
const jobsOfRound = 240;
const rounds = 5;
const lastingMilliseconds = 8000;
const lastingRounds = 2;
const burstJobs = 1000;
/** The most connections that one address may have without a credential. */
const burstClients = 48;
const loneJobs = 20;

const LOGGED = { 'log-host': 'log.example', 'log-promises': 'all' };
const python = hello('python');

/** One figure for the service with a log, and one for the service without. */
interface Both<Value> {
  readonly logged: Value;
  readonly plain: Value;
}

export async function* measure(): AsyncGenerator<Measurement> {
  using one = scratchDirectory();
  using other = scratchDirectory();
  await using plain = await serveService({ ...FLAGS, provider: 'namespace' }, one.path);
  await using logged = await serveService({ ...FLAGS, provider: 'namespace', ...LOGGED }, other.path);
  yield rate('after a pause', await inTurns({ logged, plain }, rounds, jobsAfterAPause));
  yield rate('without a pause', await inTurns({ logged, plain }, lastingRounds, jobsWhileLasting));
  yield await loneProofs(logged);
  yield await burstProofs({ logged, plain });
}

/** Measures both services in turns. The first round warms up. */
async function inTurns(
  services: Both<ServedCells>,
  count: number,
  work: (clients: readonly JobClient[]) => Promise<number>,
): Promise<Both<number[]>> {
  const found: Both<number[]> = { logged: [], plain: [] };
  for (let round = 0; round <= count; round++) {
    for (const which of round % 2 === 0 ? (['plain', 'logged'] as const) : (['logged', 'plain'] as const)) {
      const measured = await withClients(services[which], clientsCount, work);
      if (round > 0) found[which].push(measured);
    }
  }
  return found;
}

async function withClients<Found>(
  { port }: ServedCells,
  count: number,
  work: (clients: readonly JobClient[]) => Promise<Found>,
): Promise<Found> {
  const clients = Array.from({ length: count }, () => openJobClient({ port, key: KEY }));
  try {
    return await work(clients);
  } finally {
    for (const client of clients) client[Symbol.dispose]();
  }
}

async function jobsAfterAPause(clients: readonly JobClient[]): Promise<number> {
  return jobsOfRound / ((await driven(clients, python, jobsOfRound)) / 1000);
}

async function jobsWhileLasting(clients: readonly JobClient[]): Promise<number> {
  const started = performance.now();
  let jobs = 0;
  const drive = async (client: JobClient) => {
    while (performance.now() - started < lastingMilliseconds) {
      await timedRun(client, python);
      jobs++;
    }
  };
  await Promise.all(clients.map(drive));
  return jobs / ((performance.now() - started) / 1000);
}

function rate(when: string, { logged, plain }: Both<number[]>): Measurement {
  return {
    what: `python, ${clientsCount} clients, each job logged and promised, ${when}`,
    value: median(logged),
    unit: '/s',
    baseline: { what: 'without a log', value: median(plain) },
    spread: [Math.min(...logged), Math.max(...logged)],
    target: { ratio: 0.95, is: 'at least' },
  };
}

/** Measures the time from a single job's result to its proof, compared with the time to its attestation. */
async function loneProofs(logged: ServedCells): Promise<Measurement> {
  const [proofs, attestations]: [number[], number[]] = [[], []];
  await withClients(logged, 1, async ([client]) => {
    if (client === undefined) throw new Error('there is no client');
    for (let job = 0; job < loneJobs; job++) {
      const url = await client.submit(python);
      await client.result(url);
      const ended = performance.now();
      const job_url = url.replace(/\/result$/, '');
      await answered(logged, `${job_url}/attestation`);
      attestations.push(performance.now() - ended);
      await answered(logged, `${job_url}/log-proof`);
      proofs.push(performance.now() - ended);
      // After this pause, the next job is a single job again.
      await pause(1200);
    }
  });
  return {
    what: 'from the result of a lone job to its proof, p50',
    value: median(proofs),
    unit: 'ms',
    baseline: { what: 'to its attestation', value: median(attestations) },
    spread: [percentile(proofs, 0.1), percentile(proofs, 0.9)],
  };
}

/** Requests the document until the service has it. */
async function answered({ port }: ServedCells, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${KEY}` };
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    await answer.arrayBuffer();
    if (answer.ok) return;
    if (answer.headers.get('retry-after') === null) throw new Error(`${path}: ${answer.status}`);
    await pause(2);
  }
}

/** Submits all jobs at once. Measures the time until the last result and until the last proof. */
async function burstProofs(services: Both<ServedCells>): Promise<Measurement> {
  const [proofs, results]: [number[], number[]] = [[], []];
  for (let round = 0; round < 2; round++) {
    results.push((await burstAt(services.plain, [])).results);
    const { all } = await burstAt(services.logged, ['log-proof', 'promise']);
    proofs.push(all);
  }
  return {
    what: `${burstJobs} jobs at once, each logged and promised, to the last proof`,
    value: median(proofs),
    unit: 'ms',
    baseline: { what: 'without a log, to the last result', value: median(results) },
    spread: [Math.min(...proofs), Math.max(...proofs)],
  };
}

/** Runs the burst, and waits until the service has these log documents for every job. */
async function burstAt(service: ServedCells, parts: readonly string[]) {
  return await withClients(service, burstClients, async (clients) => {
    const started = performance.now();
    const clientOf = (index: number) => clients[index % clients.length] as JobClient;
    const urls = await Promise.all(Array.from({ length: burstJobs }, (_, index) => clientOf(index).submit(python)));
    const ended = await Promise.all(urls.map((url, index) => clientOf(index).result(url)));
    const results = performance.now() - started;
    const failed = ended.filter(({ status }) => status !== 'succeeded').length;
    if (failed > 0) throw new Error(`${failed} of ${burstJobs} jobs did not succeed`);
    for (const url of urls) for (const part of parts) await answered(service, url.replace(/\/result$/, `/${part}`));
    return { results, all: performance.now() - started };
  });
}
