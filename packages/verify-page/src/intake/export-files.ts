/**
 * Makes an export from the dropped files: a directory, its archive, or an envelope with its result. Names are only keys in a
 * map here. Nothing is written anywhere.
 */
import {
  EXPORT_FILES,
  EXPORT_MANIFEST,
  exportedFileBytesMax,
  GRAPH_FILE,
  isJsonObject,
  parseStrictJson,
  readGraphFile,
} from '@vouchbox/evidence';
import { resultArtifactBytesMax, sizeText } from '@vouchbox/protocol/vocabulary';
import { entriesMax, IntakeProblem, inflate, totalBytesMax } from './bounds.ts';
import { isTar, readTar } from './tar.ts';
import { isZip, readZip } from './zip.ts';

export type Files = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** A file with the path under which it was dropped. */
export interface DroppedFile {
  readonly path: string;
  readonly file: File;
}

/** A job together with all jobs that it depends on. */
export interface GivenGraph {
  /** The bytes of `graph.json`. */
  readonly list: Uint8Array<ArrayBuffer>;
  /** The files of each job. */
  readonly jobs: ReadonlyMap<string, Files>;
}

export interface Intake {
  /** The files of the exported job or, in a graph, of the job that the graph is about. */
  readonly files: Files;
  /** The graph; null for the export of one job. */
  readonly graph: GivenGraph | null;
}

export async function intakeOf(dropped: readonly DroppedFile[]): Promise<Intake> {
  const files = await readAll(dropped);
  const [list, next] = byDepth(files, GRAPH_FILE);
  const manifests = byDepth(files, EXPORT_MANIFEST);
  const [manifest] = manifests;
  // A `graph.json` below a manifest comes from the program. If it counted as a graph, it could show another job.
  const isGraph = list !== undefined && (manifest === undefined || depthOf(list) < depthOf(manifest));
  if (!isGraph) return { files: exportIn(files, manifests), graph: null };
  if (next !== undefined && depthOf(next) === depthOf(list)) throw new IntakeProblem('These are two graphs. Drop one.');
  return graphIn(files, list);
}

/** The files with this name, those nearest to the root first. */
function byDepth(files: Files, name: string): string[] {
  const found = [...files.keys()].filter((path) => path === name || path.endsWith(`/${name}`));
  return found.sort((one, other) => depthOf(one) - depthOf(other));
}

const depthOf = (path: string) => path.split('/').length;

function graphIn(files: Files, path: string): Intake {
  const list = files.get(path) ?? new Uint8Array();
  const jobs = new Map<string, Map<string, Uint8Array<ArrayBuffer>>>();
  for (const [within, bytes] of below(files, path.slice(0, -GRAPH_FILE.length))) {
    const [, job_id, rest] = /^([^/]+)\/(.+)$/.exec(within) ?? [];
    if (job_id === undefined || rest === undefined) {
      if (within === GRAPH_FILE) continue;
      throw new IntakeProblem(`${within} is beside ${GRAPH_FILE}. No graph has such a file.`);
    }
    const job = jobs.get(job_id) ?? new Map<string, Uint8Array<ArrayBuffer>>();
    jobs.set(job_id, job.set(rest, bytes));
  }
  const own = jobs.get(readGraphFile(list)?.job_id ?? '');
  if (own === undefined) throw new IntakeProblem(`The job that ${GRAPH_FILE} is about is not here.`);
  for (const job of jobs.values()) bounded(job);
  return { files: own, graph: { list, jobs } };
}

/** The files below the manifest's directory. Without a manifest: an envelope and a result, renamed as in an export. */
function exportIn(files: Files, [manifest, next]: readonly string[]): Files {
  if (manifest !== undefined && next !== undefined && depthOf(manifest) === depthOf(next))
    throw new IntakeProblem('These are the exports of several jobs. Drop one, or a graph with its graph.json.');
  if (manifest !== undefined) return bounded(below(files, manifest.slice(0, -EXPORT_MANIFEST.length)));
  const known = namedByContent(files);
  if (known.size > 0) return bounded(known);
  throw new IntakeProblem(
    `There is no ${EXPORT_MANIFEST} here, and no envelope. Drop the directory that "vouchbox export" wrote, or a zip or tar of it.`,
  );
}

async function readAll(dropped: readonly DroppedFile[]): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  if (dropped.length > entriesMax) throw new IntakeProblem(`These are more than ${entriesMax} files.`);
  const total = dropped.reduce((sum, { file }) => sum + file.size, 0);
  if (total > totalBytesMax)
    throw new IntakeProblem(`This is more than ${sizeText(totalBytesMax)}. No export is that large.`);
  const read = await Promise.all(dropped.map(async ({ path, file }) => ({ path, bytes: await bytesOf(file) })));
  const [only] = read;
  if (read.length === 1 && only !== undefined)
    return (await unpacked(only.bytes)) ?? new Map([[only.path, only.bytes]]);
  return new Map(read.map(({ path, bytes }) => [path, bytes]));
}

async function bytesOf(file: File): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new IntakeProblem(`${file.name} cannot be read.`);
  }
}

/** The files in an archive; null if the bytes are no archive. */
async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<Map<string, Uint8Array<ArrayBuffer>> | null> {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const plain = isGzip ? await inflate(bytes, 'gzip', totalBytesMax) : bytes;
  if (isZip(plain)) return await readZip(plain);
  if (isTar(plain)) return readTar(plain);
  if (isGzip) throw new IntakeProblem('The gzip file holds no tar archive.');
  return null;
}

function below(files: Files, root: string): Files {
  return new Map(
    Array.from(files)
      .filter(([path]) => path.startsWith(root))
      .map(([path, bytes]) => [path.slice(root.length), bytes]),
  );
}

/** Refuses a file that is larger than any file in an export, because it would keep the page busy for minutes. */
function bounded(files: Files): Files {
  for (const [path, bytes] of files) {
    const bytesMax = exportedFileBytesMax(path);
    if (bytesMax !== null && bytes.length > bytesMax) {
      throw new IntakeProblem(
        `${path} has ${sizeText(bytes.length)}. No export has one of more than ${sizeText(bytesMax)}.`,
      );
    }
  }
  return files;
}

/** An envelope and a result, recognised by their content, since people may save them under any name. */
function namedByContent(files: Files): Files {
  const known = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const bytes of files.values()) {
    const name = nameOf(bytes);
    if (name === null) continue;
    if (known.has(name))
      throw new IntakeProblem(`Two of these files could be ${name}. Drop the files of one job only.`);
    known.set(name, bytes);
  }
  return known;
}

function nameOf(bytes: Uint8Array): string | null {
  const json = bytes.length > resultArtifactBytesMax ? null : parseStrictJson(bytes);
  if (json?.kind !== 'value' || !isJsonObject(json.value)) return null;
  if ('payloadType' in json.value && 'signatures' in json.value) return EXPORT_FILES.envelope;
  return json.value['_type'] === 'urn:svc:execution-result:v1' ? EXPORT_FILES.result : null;
}
