/**
 * A real service for a test file, with its own store, port and directory, real cells and two tenants. The service is stopped
 * after the last test, and must leave nothing on the host.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import type { FoldedResult, JobDetail, JobEvent, JobSubmission } from '@vouchbox/protocol';
import { loadConfig, startService } from '@vouchbox/server';
import { afterAll, beforeAll, expect } from 'vitest';
import { databaseOf } from './database.ts';
import { instanceOf, leftoversOf } from './leftovers.ts';
import { type RawAnswer, rawAnswers, rawExchange } from './raw-http.ts';

/** Settings for `vouchbox serve`, keyed by flag. */
export type RigSettings = Readonly<Record<string, string>>;

export interface RequestOptions {
  readonly method?: string;
  /** Null sends no credential. Default: the key of `alpha`. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Strings and bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body. Throws if the body is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came
  readonly json: any;
}

/** Everything about one ended job. */
export interface Ran {
  readonly job_id: string;
  readonly result: FoldedResult;
  readonly detail: JobDetail;
  readonly events: readonly JobEvent[];
}

type RunningService = Awaited<ReturnType<typeof startService>>;

export interface Tenant {
  readonly name: string;
  readonly key: string;
  readonly client: ServiceClient;
}

const QUICK: RigSettings = {
  host: '127.0.0.1',
  port: '0',
  provider: 'namespace',
  'rate-per-second': '100000',
  'rate-burst': '100000',
  'queue-max': '1000',
  'tenant-queue-max': '1000',
  'free-space-reserve-mb': '0',
  'attestation-mode': 'off',
  canaries: 'off',
  'log-level': 'silent',
};

/** A running service. */
export class Rig {
  readonly service: RunningService;
  readonly dataDir: string;
  readonly alpha: Tenant;
  readonly beta: Tenant;

  private constructor(service: RunningService, dataDir: string) {
    this.service = service;
    this.dataDir = dataDir;
    this.alpha = tenantOf(service.url, 'alpha');
    this.beta = tenantOf(service.url, 'beta');
  }

  static async start(settings: RigSettings = {}, dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'))): Promise<Rig> {
    const keys = 'alpha=key-of-alpha,beta=key-of-beta';
    const database = await databaseOf(dataDir);
    const place = { 'data-dir': dataDir, ...(database !== null && { 'database-url': database }) };
    const flags = { ...QUICK, ...place, 'legacy-keys': keys, ...settings };
    return new Rig(await startService(loadConfig({}, flags)), dataDir);
  }

  get port(): number {
    return Number(new URL(this.service.url).port);
  }

  /** Makes one request. Nothing is retried, and no status throws. */
  async request(path: string, options: RequestOptions = {}): Promise<Answer> {
    const { method = 'GET', key = this.alpha.key, headers = {}, body } = options;
    const isPlain = body === undefined || typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(this.service.url + path, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isPlain ? (body as string) : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      get json() {
        return JSON.parse(text) as unknown;
      },
    };
  }

  /** POST /v1/jobs with any body. */
  post(body: unknown, options: Omit<RequestOptions, 'method' | 'body'> = {}): Promise<Answer> {
    return this.request('/v1/jobs', { ...options, method: 'POST', body });
  }

  /** Sends bytes on a new socket and returns every answer that came before the service closed the socket. */
  async raw(bytes: string | Uint8Array, sendingSide: 'ended' | 'open' = 'ended'): Promise<RawAnswer[]> {
    return rawAnswers(await rawExchange(this.port, bytes, sendingSide));
  }

  /** Runs a program to its end and reads everything about it. */
  async run(submission: JobSubmission, { client }: Tenant = this.alpha): Promise<Ran> {
    const { job_id } = await client.submit(submission);
    return this.ended(job_id, { client });
  }

  /** Waits for a job's end and reads everything about the job. */
  async ended(job_id: string, { client }: Pick<Tenant, 'client'> = this.alpha): Promise<Ran> {
    const result = await client.waitForResult(job_id);
    const detail = await client.detail(job_id);
    return { job_id, result, detail, events: await Array.fromAsync(client.events(job_id, { limit: 1000 })) };
  }

  /** How many jobs a tenant has. With this, a test can show that a refusal made no job. */
  async jobCount({ client }: Tenant = this.alpha): Promise<number> {
    return (await Array.fromAsync(client.listAll({ limit: 200 }))).length;
  }

  /** Stops the service and returns its leftovers on the host. Removes the data directory unless it is kept for a restart. */
  async stop(dataDir: 'removed' | 'kept' = 'removed'): Promise<string[]> {
    await this.service.stop();
    const left = leftoversOf(this.dataDir);
    const strangers = readdirSync(this.dataDir).filter(
      (name) => !/^(svc\.db|instance-id$|log-mark$|attestation-keys$)/.test(name),
    );
    if (dataDir === 'removed') rmSync(this.dataDir, { recursive: true });
    return [...left, ...strangers.map((name) => `file ${name} in the data directory`)];
  }
}

function tenantOf(baseUrl: string, name: string): Tenant {
  const key = `key-of-${name}`;
  return { name, key, client: createServiceClient({ baseUrl, apiKey: key }) };
}

/** Starts a service for this test file, stops it after the last test, and expects that it left nothing behind. */
export function useRig(settings: RigSettings = {}): () => Rig {
  let rig: Rig | undefined;
  beforeAll(async () => {
    rig = await Rig.start(settings);
    // Shows that the search for leftovers finds things: a running service that isolates has a directory on the host.
    if (settings['provider'] !== 'subprocess') {
      expect(leftoversOf(rig.dataDir)).toContain(`directory /run/svc/${instanceOf(rig.dataDir)}`);
    }
  });
  afterAll(async () => {
    expect(await rig?.stop()).toEqual([]);
  });
  return () => {
    if (rig === undefined) throw new Error('the service is not started yet');
    return rig;
  };
}
