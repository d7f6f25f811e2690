/** Fills a node's or the database's disk, and checks what the service answers until there is space again. */
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceFailure } from '@vouchbox/client';
import type { SmallDisk } from '../crash/small-disk.ts';
import { crashClient, type Workload } from '../crash/workload.ts';
import type { PostgresServer } from '../rig/postgres-server.ts';
import type { FleetNode } from './fleet-node.ts';

/** Long enough for a busy machine. An answer that takes longer counts as missing. */
const patienceMilliseconds = 30_000;
const pauseMilliseconds = 100;

/** The answers that a full disk may cause. Spec § Errors. */
const CLEAR: ReadonlySet<number> = new Set([503, 507]);

/** Whether a call failed clearly: it got no answer, or a refusal on which a caller can act. */
export function isClear(error: unknown): boolean {
  return !(error instanceof ServiceFailure) || CLEAR.has(error.status);
}

/** Checks that a node with a full disk refuses jobs with 507, and accepts jobs once there is space. Returns what was wrong. */
export async function fillNode(node: FleetNode, workload: Workload, milliseconds: number): Promise<string[]> {
  const url = node.url ?? '';
  const problems: string[] = [];
  node.isDiskFull = true;
  try {
    const refusal = await until(async () => refusalOf(await outcome(url, workload)));
    if (refusal === null) problems.push('a node with a full disk goes on to accept jobs');
    else if (refusal.status !== 507) problems.push(`a node with a full disk answers ${refusal.status} ${refusal.code}`);
    await delay(milliseconds);
  } finally {
    node.isDiskFull = false;
  }
  return [...problems, ...(await accepts(node, workload))];
}

export interface DatabaseOnDisk {
  readonly server: PostgresServer;
  readonly disk: SmallDisk;
  /** The disk's size while it is not full. */
  readonly mebibytes: number;
}

/**
 * Fills the database's disk. The database then refuses changes, and ends when it cannot write its log. Starts the database
 * again once there is space, as an operator does. Returns what was wrong.
 */
export async function fillDatabase(
  { server, disk, mebibytes }: DatabaseOnDisk,
  { node, workload }: { readonly node: FleetNode; readonly workload: Workload },
): Promise<string[]> {
  disk.shrink();
  try {
    // The database continues until its log needs a new file. Nobody knows how long that takes.
    await until(async () => {
      const answered = await outcome(node.url ?? '', workload);
      return answered === 'accepted' ? null : answered;
    });
  } finally {
    disk.grow(mebibytes);
  }
  await until(async () => {
    if (!server.isRunning) await server.start();
    return (await outcome(node.url ?? '', workload)) === 'accepted' ? true : null;
  });
  return await accepts(node, workload);
}

async function accepts(node: FleetNode, workload: Workload): Promise<string[]> {
  const accepted = await until(async () => ((await outcome(node.url ?? '', workload)) === 'accepted' ? true : null));
  return accepted === null ? [`a node does not accept jobs again after its disk was full:\n${node.said}`] : [];
}

/** Submits one more job, and returns whether it was accepted. */
async function outcome(url: string, workload: Workload): Promise<'accepted' | { readonly error: unknown }> {
  try {
    await workload.submitOne(crashClient(url));
    return 'accepted';
  } catch (error) {
    return { error };
  }
}

function refusalOf(answered: Awaited<ReturnType<typeof outcome>>): ServiceFailure | null {
  return answered !== 'accepted' && answered.error instanceof ServiceFailure ? answered.error : null;
}

/** The first answer other than null; null if none came in time. */
async function until<Answer>(look: () => Promise<Answer | null>): Promise<Answer | null> {
  const givesUpAt = performance.now() + patienceMilliseconds;
  while (performance.now() < givesUpAt) {
    const found = await look();
    if (found !== null) return found;
    await delay(pauseMilliseconds);
  }
  return null;
}
