/**
 * Makes a store with very many jobs in minutes: runs a few real jobs, and copies their rows under new names and times. Every
 * column has what a service wrote there. Digests and signatures over a job's name stay those of the original job; no measured
 * operation reads them.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { serveService } from '../http/processes.ts';
import { FLAGS, hello, KEY, TENANT, timedRun } from './bench-service.ts';
import { openJobClient } from './job-client.ts';

/** A store with a million jobs takes about two minutes on an ordinary disk. */
const fillMillisecondsMax = 15 * 60_000;
const jobsOfStep = 20_000;
const secondsBetweenJobs = 0.05;

/**
 * Fills the store in a data directory that no service has open. Resolves with the ids of some of its jobs. These jobs are spread
 * over the whole store.
 */
export async function fillStore(directory: string, jobs: number, named: number): Promise<readonly string[]> {
  await runSeeds(directory);
  const path = join(directory, 'svc.db');
  using database = new DatabaseSync(path);
  // Losing the store does no harm, because it can be made again. Without a journal, no second file is left beside it.
  for (const pragma of ['journal_mode = delete', 'journal_mode = off', 'synchronous = off', 'cache_size = -262144']) {
    database.exec(`pragma ${pragma}`);
  }
  const tables = tablesOfJobs(database);
  database.exec(`
    create temp table seeds as
      select job_id, row_number() over (order by job_id) - 1 as place from jobs where tenant = '${TENANT}';
    create temp table copies (place integer primary key, job_id text, seed text, at real)`);
  const endsAt = performance.now() + fillMillisecondsMax;
  const now = Date.now() / 1000;
  for (let first = 0; first < jobs; first += jobsOfStep) {
    if (performance.now() > endsAt) throw new Error(`${first} of ${jobs} jobs were stored when the time was over`);
    const last = Math.min(first + jobsOfStep, jobs);
    copyJobs(database, tables, { first, last, at: now - (jobs - first) * secondsBetweenJobs });
  }
  return namesIn(database, named);
}

async function runSeeds(directory: string): Promise<void> {
  await using service = await serveService({ ...FLAGS, provider: 'namespace' }, directory);
  using client = openJobClient({ port: service.port, key: KEY });
  for (const language of ['python', 'node', 'bash'] as const) await timedRun(client, hello(language));
  // Attestations come after a job's end. Waits for them, so that the copies have them too.
  for (;;) {
    const { signer } = await client.call<{ signer: { outbox_depth: number } }>('GET', '/v1/status');
    if (signer.outbox_depth === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  rmSync(join(directory, 'log'), { force: true });
}

/** The column names of every table that has rows about jobs. The table of the jobs themselves comes first. */
function tablesOfJobs(database: DatabaseSync): ReadonlyMap<string, readonly string[]> {
  const names = database.prepare("select name from sqlite_master where type = 'table'").all();
  const tables = names.map(({ name }) => {
    const columns = database.prepare(`select name from pragma_table_info('${String(name)}')`).all();
    return [String(name), columns.map((column) => String(column['name']))] as const;
  });
  const ofJobs = tables.filter(([, columns]) => columns.includes('job_id'));
  return new Map(ofJobs.toSorted(([one], [other]) => Number(other === 'jobs') - Number(one === 'jobs')));
}

interface Step {
  readonly first: number;
  readonly last: number;
  /** When the first copy was accepted, in seconds. */
  readonly at: number;
}

function copyJobs(
  database: DatabaseSync,
  tables: ReadonlyMap<string, readonly string[]>,
  { first, last, at }: Step,
): void {
  database.exec('begin; delete from copies');
  database
    .prepare(`
      insert into copies
      with recursive places(place) as (select :first union all select place + 1 from places where place + 1 < :last)
      select places.place, substr(job_id, 1, length(job_id) - 12) || printf('%012x', places.place), job_id,
        :at + (places.place - :first) * ${secondsBetweenJobs}
      from places cross join seeds on seeds.place = places.place % (select count(*) from seeds)`)
    .run({ first, last, at });
  for (const [table, columns] of tables) {
    const values = columns.map((column) => copied(column)).join(', ');
    database.exec(`
      insert into ${table} (${columns.join(', ')})
      select ${values} from copies cross join ${table} as original on original.tenant = '${TENANT}' and original.job_id = copies.seed
      order by copies.place`);
  }
  database.exec('commit');
}

const TIMES = new Set(['created_at', 'started_at', 'finished_at']);

/** The SQL expression for this column in a copy. In texts, the copy's id replaces the original job's id. */
function copied(column: string): string {
  if (column === 'job_id') return 'copies.job_id';
  if (TIMES.has(column)) return `strftime('%Y-%m-%dT%H:%M:%fZ', copies.at, 'unixepoch')`;
  const original = `original.${column}`;
  if (!TEXTS.has(column)) return original;
  return `case typeof(${original}) when 'text' then replace(${original}, copies.seed, copies.job_id) else ${original} end`;
}

const TEXTS = new Set(['receipt_json', 'execution', 'data', 'evidence']);

/** Ids of jobs from all over the store, in random order. The service's own canary is not among them. */
function namesIn(database: DatabaseSync, count: number): readonly string[] {
  const named = database.prepare('select job_id from jobs where tenant = :tenant order by random() limit :count');
  const rows = named.all({ tenant: TENANT, count });
  return rows.map((row) => String(row['job_id']));
}
