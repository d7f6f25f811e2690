/**
 * Random graphs of jobs that a real service ran. Their exports are changed as a forger would change them: another product or
 * output is put in, a job is left out, or one bit of one file is flipped. `service-verify graph` must name the change offline.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXPORT_FILES, EXPORT_MANIFEST, exportManifest, GRAPH_FILE, graphFile } from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { keyOf, Service } from '../crossings/service.ts';
import { vouchbox } from '../rig/command.ts';
import { type Claim, Findings, type Place } from './claim.ts';
import { randomGraph, runGraph } from './random-graph.ts';

const TENANT = 'alpha';
const JOBS = 50;

export const GRAPHS: Claim = {
  name: 'graphs',
  what: `what was changed in a graph of ${JOBS} jobs is named without the service`,
  async show(place) {
    // An output that is an input of another job counts as a blob of the tenant as long as that job may need it.
    const settings = { provider: 'namespace', 'runtime-packs-dir': place.packs, 'tenant-blobs-max': '100000' };
    await using service = await Service.start([TENANT], settings);
    return await forgeGraphs(service, place);
  },
};

async function forgeGraphs(service: Service, { graphs, seed }: Pick<Place, 'graphs' | 'seed'>): Promise<Findings> {
  const found = new Findings();
  const below = numbersFrom(seed);
  const client = service.client(TENANT);
  const builds = await client.submit({ language: 'c', code: 'int main(void) { return 0; }', build: {} } as never).then(
    () => true,
    (error: Error) => {
      found.problems.push(`graphs with builds and their products: ${error.message}`);
      return false;
    },
  );
  const counts = { forged: 0, jobs: 0, edges: 0 };
  const scratch = mkdtempSync(join(tmpdir(), 'svc-judging-'));
  try {
    writeFileSync(join(scratch, 'key.pem'), service.publicKeys[0] ?? '');
    for (let at = 0; at < graphs; at++) {
      const graph = randomGraph(JOBS, { below, builds });
      const ids = await runGraph(client, graph, `graph ${at}`);
      counts.jobs += ids.length;
      counts.edges += graph.reduce((sum, { on }) => sum + on.length, 0);
      const whole = await exported(service, String(ids[0]), scratch);
      found.problems.push(...(await forge({ whole, scratch, below, ids, builds: builds ? graph : null }, counts)));
      rmSync(whole, { recursive: true });
    }
  } finally {
    rmSync(scratch, { recursive: true });
  }
  const { forged, jobs, edges } = counts;
  found.told.push(`${graphs} graphs, ${jobs} jobs, ${edges} edges, ${forged} changes, seed ${seed}`);
  return found;
}

async function exported(service: Service, job_id: string, scratch: string): Promise<string> {
  const directory = join(scratch, job_id);
  const env = { SERVICE_URL: service.url, SERVICE_KEY: keyOf(TENANT) };
  const words = ['export', job_id, '--with-inputs', '--output', directory];
  const { code, stderr } = await vouchbox(words, { cwd: scratch, env });
  if (code !== 0) throw new Error(`vouchbox export ended with ${code}: ${stderr}`);
  return directory;
}

interface Forging {
  /** The directory with the graph's unchanged export. */
  readonly whole: string;
  readonly scratch: string;
  readonly below: (bound: number) => number;
  readonly ids: readonly string[];
  /** Null if the graph has no builds. */
  readonly builds: ReturnType<typeof randomGraph> | null;
}

/** What was changed, and in which jobs. */
interface Change {
  readonly what: string;
  /** A verifier must name at least one of these jobs. It does not look at the jobs on which a broken job depends. */
  readonly jobs: readonly string[];
}

/** Makes each change in a fresh copy, and returns the changes that were not noticed. */
async function forge(forging: Forging, counts: { forged: number }): Promise<string[]> {
  const { whole, scratch } = forging;
  const good = await verified(whole, scratch);
  if (good.exitCode !== 0) return [`${whole}: a graph without a change is refused: ${good.said.slice(0, 500)}`];
  const problems: string[] = [];
  for (const change of [swapped, dropped, changed]) {
    const copy = join(scratch, 'forged');
    cpSync(whole, copy, { recursive: true });
    const { what, jobs } = change(copy, forging);
    const { exitCode, said } = await verified(copy, scratch);
    const failed = said.split('\n').filter((line) => line.startsWith('FAILED'));
    const isNamed = failed.some((line) => jobs.some((job_id) => line.includes(job_id)));
    counts.forged++;
    if (exitCode === 0 || !isNamed)
      problems.push(`${what} of ${jobs.join(', ')}: exit code ${exitCode}: ${failed.join('; ')}`);
    rmSync(copy, { recursive: true });
  }
  return problems;
}

async function verified(directory: string, scratch: string) {
  const words = ['graph', directory, '--public-key', join(scratch, 'key.pem'), '--tenant', TENANT];
  const { exitCode, stdout, stderr } = await serviceVerify(words);
  return { exitCode, said: stdout + stderr };
}

/** Replaces a job by another, or its output by another's. May then adapt the file list, and the inputs that had this output. */
function swapped(copy: string, { below, ids, builds }: Forging): Change {
  const places = ids.map((_, at) => at).filter((at) => at > 0 && (builds === null || builds[at]?.kind === 'build'));
  const [first, second] = [below(places.length), 1 + below(places.length - 1)];
  const [mine, other] = [places[first], places[(first + second) % places.length]].map((at) => String(ids[at ?? 0]));
  const [job_id, donor] = [mine as string, other as string];
  if (below(3) === 0) {
    rmSync(join(copy, job_id), { recursive: true });
    cpSync(join(copy, donor), join(copy, job_id), { recursive: true });
    return { what: 'all of another job in place', jobs: [job_id] };
  }
  const path = outputIn(join(copy, job_id));
  const bytes = readFileSync(join(copy, donor, path));
  const right = readFileSync(join(copy, job_id, path));
  const jobs = [job_id];
  writeFileSync(join(copy, job_id, path), bytes);
  if (below(2) === 0) listAnew(join(copy, job_id), job_id);
  if (below(2) === 0) {
    for (const reader of ids) {
      for (const file of filesIn(join(copy, reader))) {
        if (!file.startsWith('input/') || !readFileSync(join(copy, reader, file)).equals(right)) continue;
        writeFileSync(join(copy, reader, file), bytes);
        listAnew(join(copy, reader), reader);
        jobs.push(reader);
      }
    }
  }
  return { what: 'the output of another job in place', jobs };
}

function outputIn(directory: string): string {
  const path = filesIn(directory).find((file) => file.startsWith('output/'));
  if (path === undefined) throw new Error(`${directory} has no output`);
  return path;
}

function dropped(copy: string, { below, ids }: Forging): Change {
  const job_id = ids[1 + below(ids.length - 1)] as string;
  rmSync(join(copy, job_id), { recursive: true });
  if (below(2) === 0)
    writeFileSync(join(copy, GRAPH_FILE), graphFile({ tenant: TENANT, job_id: ids[0] as string, missing: [job_id] }));
  return { what: 'a dropped job', jobs: [job_id] };
}

/**
 * Files with parts that a verifier does not trust: the exported key, and its name. Only the list of files covers these parts.
 */
const UNTRUSTED: ReadonlySet<string> = new Set([EXPORT_FILES.publicKey, EXPORT_FILES.envelope]);

function changed(copy: string, { below, ids }: Forging): Change {
  const job_id = ids[below(ids.length)] as string;
  const files = filesIn(join(copy, job_id));
  const path = files[below(files.length)] as string;
  const content = readFileSync(join(copy, job_id, path));
  const position = below(content.length);
  content[position] = (content[position] ?? 0) ^ (1 << below(8));
  writeFileSync(join(copy, job_id, path), content.length === 0 ? 'x' : content);
  const isListed = path !== EXPORT_MANIFEST && !UNTRUSTED.has(path) && below(2) === 0;
  if (isListed) listAnew(join(copy, job_id), job_id);
  return { what: `byte ${position} of ${path}${isListed ? ', listed anew,' : ''}`, jobs: [job_id] };
}

/** Writes the list of files again, as anyone who changes a file can. */
function listAnew(directory: string, job_id: string): void {
  const paths = filesIn(directory).filter((path) => path !== EXPORT_MANIFEST);
  const files = new Map(paths.map((path) => [path, Uint8Array.from(readFileSync(join(directory, path)))]));
  writeFileSync(join(directory, EXPORT_MANIFEST), exportManifest({ tenant: TENANT, job_id }, files));
}

function filesIn(directory: string): readonly string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1)).toSorted();
}

/** Random whole numbers below a bound. The same seed gives the same numbers. */
function numbersFrom(seed: number): (bound: number) => number {
  let state = seed % 2 ** 31;
  return (bound) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * bound);
  };
}
