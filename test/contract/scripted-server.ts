/**
 * The whole service except its cells: real HTTP, real jobs and the real store. The programs do what a test tells them, so
 * that a test can force an order of events that a real program shows once in a thousand runs.
 */
import { WebSocket } from 'ws';
import {
  KEY_OF_ACME,
  openServer,
  type TestServer,
  type TestServerOptions,
} from '../../packages/server/src/http/server.fixture.ts';
import type { JobKey } from '../../packages/server/src/store/records/rows.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { acme, JobRig } from '../../packages/server/test/job-rig.ts';
import type { ScriptedCell } from '../../packages/server/test/scripted-provider.ts';

export interface ScriptedServerOptions extends Pick<TestServerOptions, 'bounds' | 'permits'> {
  /** Store methods that the test answers itself, in place of the real ones. */
  readonly faults?: (real: Store) => Partial<Store>;
  /** How many jobs run at once. */
  readonly concurrency?: number;
}

/** What a stream sent: events in the order of their frames, and the close code. */
export interface Streamed {
  readonly frames: { readonly job_id: string; readonly seq: number; readonly kind: string }[];
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
}

export class ScriptedServer implements AsyncDisposable {
  readonly rig: JobRig;
  readonly server: TestServer;

  private constructor(rig: JobRig, server: TestServer) {
    this.rig = rig;
    this.server = server;
  }

  static async open({ faults, concurrency = 64, ...server }: ScriptedServerOptions = {}): Promise<ScriptedServer> {
    const memory = concurrency * 256;
    const rig = await JobRig.open({
      concurrency,
      concurrentMemMbMax: memory,
      queue: { total: 100_000, perTenant: 100_000 },
      ...(faults === undefined ? {} : { faults }),
    });
    return new ScriptedServer(rig, await openServer({ ...server, jobs: rig.jobs, ticketRows: rig.store }));
  }

  /** Starts a job with `name` as its code, and returns the job and its cell once the program has begun. */
  async start(name: string): Promise<{ key: JobKey; cell: ScriptedCell }> {
    const key = await this.rig.submit({ language: 'bash', code: name });
    for await (const events of this.rig.jobs.tail(acme, key.job_id, { after: 0, signal: NEVER })) {
      if (events.some((text) => text.includes('"kind":"started"'))) break;
    }
    const { cells } = this.rig.provider;
    const [cell] = cells.splice(
      cells.findIndex(({ program }) => program?.code === name),
      1,
    );
    if (cell === undefined) throw new Error('the job has no cell');
    await cell.released.promise;
    return { key, cell };
  }

  /** Opens a stream with the ticket, or with the key if no ticket is given. */
  stream({ job_id }: JobKey, { after = 0, ticket }: { after?: number; ticket?: string } = {}): Streamed {
    const url = `ws://127.0.0.1:${this.server.port}/v1/jobs/${job_id}/stream?after=${after}`;
    const socket =
      ticket === undefined ? new WebSocket(url, { headers: HEADERS }) : new WebSocket(`${url}&ticket=${ticket}`);
    const frames: Streamed['frames'] = [];
    socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as Streamed['frames'][number]));
    const { promise: closed, resolve, reject } = Promise.withResolvers<number>();
    socket.on('close', resolve);
    socket.on('error', reject);
    return { frames, socket, closed };
  }

  async ticket({ job_id }: JobKey): Promise<string> {
    const url = `${this.server.url}/v1/jobs/${job_id}/stream-ticket`;
    const response = await fetch(url, { method: 'POST', headers: HEADERS });
    return ((await response.json()) as { ticket: string }).ticket;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.rig[Symbol.asyncDispose]();
  }
}

const HEADERS = { authorization: `Bearer ${KEY_OF_ACME}` };
const NEVER = new AbortController().signal;
