/**
 * One cell of the matrix while it is tried: a scenario with its own tenant, on a service that other cells share. An event
 * such as a crash happens to all of the service's cells at once, so each cell waits here until all cells are ready.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { JobSubmission, OutputName, ServiceClient, SessionStep } from '@vouchbox/client';
import { isTerminal } from '@vouchbox/protocol/vocabulary';
import type { Feature } from './features.ts';
import type { Scenario } from './scenarios.ts';
import { keyOf, type Service } from './service.ts';

const patienceMilliseconds = 120_000;
const betweenMilliseconds = 100;

/** The name of a cell's session. */
const SESSION = 'crossed';

/** A group of cells that wait until all of them are ready for one event. */
export class Gathering {
  #missing: number;
  readonly #done = Promise.withResolvers<void>();
  readonly #act: () => Promise<void>;

  constructor(count: number, act: () => Promise<void>) {
    this.#missing = count;
    this.#act = act;
    this.#done.promise.catch(() => {});
  }

  /** Called by a cell that is ready. Resolves once the event has happened. */
  arrive(): Promise<void> {
    this.leave();
    return this.#done.promise;
  }

  /** Must be called on behalf of a cell that will never be ready. */
  leave(): void {
    this.#missing--;
    if (this.#missing === 0) this.#act().then(this.#done.resolve, this.#done.reject);
  }
}

export class Crossing {
  readonly feature: Feature;
  readonly scenario: Scenario;
  readonly service: Service;
  readonly tenant: string;
  /** An empty directory for this cell's files. */
  readonly directory: string;
  readonly #gathering: Gathering | null;
  #hasArrived = false;

  constructor(given: {
    readonly feature: Feature;
    readonly scenario: Scenario;
    readonly service: Service;
    readonly tenant: string;
    readonly directory: string;
    readonly gathering: Gathering | null;
  }) {
    this.feature = given.feature;
    this.scenario = given.scenario;
    this.service = given.service;
    this.tenant = given.tenant;
    this.directory = given.directory;
    this.#gathering = given.gathering;
  }

  get key(): string {
    return keyOf(this.tenant);
  }

  get client(): ServiceClient {
    return this.service.client(this.tenant);
  }

  /** A client of the second node, or of the only node. */
  get otherClient(): ServiceClient {
    return this.service.client(this.tenant, this.service.otherUrl);
  }

  /**
   * The public key that signed the scenario's job, as PEM: the first key if the scenario is about key rotation, otherwise
   * the newest key.
   */
  get signer(): string {
    const { publicKeys } = this.service;
    const pem = this.scenario.act === 'key_rotated' ? publicKeys[0] : publicKeys.at(-1);
    if (pem === undefined) throw new Error('the service has no public key');
    return pem;
  }

  /** Runs the jobs whose outputs the program gets as inputs. Returns these outputs, keyed by the input's path. */
  async outputsOfJobs(): Promise<Record<string, { readonly from: OutputName }>> {
    const files: Record<string, { from: OutputName }> = {};
    for (const [path, code] of Object.entries(this.scenario.program.fromJobs ?? {})) {
      const { job_id } = await this.client.run({ language: 'bash', code, outputs: ['output/made'] });
      files[path] = { from: { job_id, path: 'output/made' } };
    }
    return files;
  }

  /**
   * The program's session, ready for the program's step; null if the program is not a step. If the session has no step yet,
   * its first step runs now, at the second node if there is one.
   */
  async step(): Promise<SessionStep | null> {
    const { before, language } = this.scenario.program;
    if (before === undefined) return null;
    const session = await this.otherClient.session(SESSION, { language });
    if (session.lastJob === null) await session.run(before);
    return { name: session.name, after: session.lastJob };
  }

  /**
   * The program's submission without the files. First sends the service what the submission names: the standard input, the
   * libraries, and a build of the program.
   */
  async submission(): Promise<Omit<JobSubmission, 'files'>> {
    const { uploads: _, fromJobs: __, before: ___, uploadedStdin, packed, build, ...program } = this.scenario.program;
    const { language, code } = program;
    const blob = uploadedStdin && (await this.client.upload(new Uint8Array(uploadedStdin))).blob;
    const libraries = packed && { blob: (await this.client.upload(packed)).blob };
    const built = build && (await this.client.run({ language, code, build }));
    const session = await this.step();
    return {
      ...program,
      ...(session !== null && { session }),
      ...(blob !== undefined && { stdin: { blob } }),
      ...(libraries && { libraries }),
      ...(built && { product: { job_id: built.job_id } }),
    };
  }

  /** Answers a program's tool calls until the program has ended. Uses the second node if there is one. */
  async answered(job_id: string): Promise<void> {
    const { answers } = this.scenario;
    if (answers !== undefined) await this.otherClient.answerToolCalls(job_id, { tools: answers });
  }

  /** The ids of all this cell's jobs, the newest first. */
  async jobs(): Promise<string[]> {
    return (await Array.fromAsync(this.client.listAll({ limit: 200 }))).map(({ job_id }) => job_id);
  }

  /** The newest job that runs the scenario's program. An adapter also runs programs of its own. */
  async job(): Promise<string> {
    for (const job of await this.jobs()) {
      const { code } = (await this.client.detail(job)).requested_spec;
      if (code === this.scenario.program.code) return job;
    }
    throw new Error('no job runs the program');
  }

  /** The scenario's job, once the job's program has written something. */
  async begun(): Promise<string> {
    return await this.until('the program did not begin', async () => {
      for await (const { job_id } of this.client.listAll({ status: ['running'] })) {
        const { code } = (await this.client.detail(job_id)).requested_spec;
        if (code !== this.scenario.program.code) continue;
        if ((await this.client.result(job_id)).stdout !== '') return job_id;
      }
      return null;
    });
  }

  /** Waits until the job is signed. */
  async signed(job_id: string): Promise<void> {
    await this.until('the job was not signed', async () =>
      (await this.client.detail(job_id)).attestation.available ? true : null,
    );
  }

  /** Resolves once every node has run a canary. Results that are signed from then on name a canary. */
  async canaried(): Promise<void> {
    await this.until('no canary came to its end', async () => {
      for (const client of [this.client, this.otherClient]) await client.run({ language: 'bash', code: 'true' });
      const { canaries = [], nodes = [] } = await this.client.status();
      const tried = canaries.filter(({ problem, runtime_pack }) => problem === null && runtime_pack === 'system');
      const executors = nodes.filter(({ slots }) => slots > 0);
      return tried.length >= Math.max(1, executors.length) ? true : null;
    });
  }

  /** Waits until the job has ended. */
  async ended(job_id: string): Promise<void> {
    await this.until('the job did not end', async () =>
      isTerminal((await this.client.detail(job_id)).status) ? true : null,
    );
  }

  /** Resolves once the scenario's event has happened to the service. */
  async happened(): Promise<void> {
    this.#hasArrived = true;
    await this.#gathering?.arrive();
  }

  /** Called once this cell is done, so that the other cells do not wait for it. */
  over(): void {
    if (!this.#hasArrived) this.#gathering?.leave();
  }

  /** Calls `look` until it returns a value other than null, and returns this value. */
  async until<Value>(problem: string, look: () => Promise<Value | null>): Promise<Value> {
    const givesUpAt = performance.now() + patienceMilliseconds;
    for (;;) {
      const found = await look();
      if (found !== null) return found;
      if (performance.now() > givesUpAt) throw new Error(problem);
      await pause(betweenMilliseconds);
    }
  }
}
