/** `service-verify graph`: checks a directory that `vouchbox export --with-inputs` wrote. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { GRAPH_FILE, graphFileBytesMax, graphJobsMax } from '@vouchbox/evidence';
import { EXIT } from './exit-code.ts';
import { readExportFiles, unreadable } from './export-directory.ts';
import { readBounded } from './read-file.ts';
import { failed } from './report.ts';
import { readPublicKey, type TrustOptions } from './verify.ts';
import { type GraphReport, refusedGraph, verifyGraph } from './verify-graph.ts';

export interface GraphOptions extends TrustOptions {
  /** The expected job; if left out, the graph decides which job it is about. */
  readonly job?: string;
}

export async function verifyGraphDirectory(
  directory: string,
  { publicKey, tenant, job }: GraphOptions,
): Promise<GraphReport> {
  const publicKeys = publicKey.map(readPublicKey);
  const entries = entriesOf(directory);
  const foreign = entries.find((entry) => !entry.isDirectory() && entry.name !== GRAPH_FILE);
  if (foreign !== undefined) {
    const check = failed('graph', `${foreign.name} is in it, but no graph has such a file`);
    return refusedGraph(EXIT.notAnExport, check);
  }
  const list = entries.some(({ name }) => name === GRAPH_FILE)
    ? readBounded(join(directory, GRAPH_FILE), graphFileBytesMax)
    : null;
  const jobs = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const read = (name: string) => readExportFiles(join(directory, name));
  return await verifyGraph({ list, jobs, read }, { publicKeys, tenant, job });
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true }).slice(0, graphJobsMax + 2);
  } catch (error) {
    throw unreadable(directory, error);
  }
}
