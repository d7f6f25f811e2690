/** The scenarios that all clients share, played by the TypeScript client against the real service. `clients/README.md`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServiceClient, type ServiceClient, ServiceFailure, type Workspace } from '@vouchbox/client';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Fault, type FaultProxy, openFaultProxy } from '../rig/fault-proxy.ts';
import { useRig } from '../rig/rig.ts';

type Members = Readonly<Record<string, unknown>>;

interface Call {
  readonly call: string;
  readonly job_id?: string;
  readonly with?: Members;
  readonly until?: string;
  readonly gives?: unknown;
  readonly heard?: Members;
  readonly fails?: Members;
  readonly interrupt?: { readonly heard?: string; readonly on?: string; readonly held?: string };
}

interface Scenario {
  readonly name: string;
  readonly needs?: readonly string[];
  readonly client?: {
    readonly base_url?: string;
    readonly api_key?: string;
    readonly attempts_max?: number;
    readonly patience_seconds?: number;
  };
  readonly refuses_client?: boolean;
  readonly workspace?: boolean;
  readonly faults?: readonly Fault[];
  readonly do?: readonly Call[];
  readonly then?: {
    readonly requests?: Readonly<Record<string, number>>;
    readonly keys?: number;
    readonly jobs?: number;
    readonly seconds_between_at_least?: Readonly<Record<string, number>>;
    readonly steps_linked?: number;
  };
}

const file = join(import.meta.dirname, '../../clients/scenarios.json');
const { scenarios } = JSON.parse(readFileSync(file, 'utf8')) as { scenarios: readonly Scenario[] };
/** Each scenario has its own tenants. */
const tenants = scenarios.flatMap((_, index) => [`tenant-of-${index}`, `paging-tenant-of-${index}`]);
const rig = useRig({
  'attestation-mode': 'on',
  'legacy-keys': ['alpha', ...tenants].map((tenant) => `${tenant}=key-of-${tenant}`).join(),
});

/** Calls whose method has a different name in this client than in the scenarios. */
const NAMES: Readonly<Record<string, keyof ServiceClient>> = {
  wait: 'waitForResult',
  jobs: 'listAll',
  result_artifact: 'resultArtifact',
};
const ABOUT_A_JOB = ['wait', 'follow', 'result', 'detail', 'cancel', 'attestation', 'result_artifact', 'verify'];

/** A scenario's state while it is played. */
class Play {
  readonly #client: ServiceClient;
  readonly #workspace: Workspace | null;
  readonly #proxy: FaultProxy;
  #heard: Record<string, string> = { stdout: '', stderr: '' };

  constructor(client: ServiceClient, workspace: Workspace | null, proxy: FaultProxy) {
    this.#client = client;
    this.#workspace = workspace;
    this.#proxy = proxy;
  }

  async do(step: Call): Promise<void> {
    const stop = new AbortController();
    const reason = new Error('interrupted');
    const { heard, on, held } = step.interrupt ?? {};
    const stopAt = (wanted?: string) => (operation: string) => {
      if (operation === wanted) stop.abort(reason);
    };
    this.#proxy.onRequest = stopAt(on);
    this.#proxy.onHeld = stopAt(held);
    const made = this.#call(step, stop.signal, () => {
      if (this.#heard['stdout'] === heard) stop.abort(reason);
    });
    if (step.interrupt !== undefined) await expect(made).rejects.toBe(reason);
    else if (step.fails !== undefined) expectLike(await failureOf(made), step.fails, 'fails');
    else if (step.gives !== undefined) expectLike(await made, step.gives, step.call);
    else await made;
    if (step.heard !== undefined) expect(this.#heard).toEqual(step.heard);
  }

  /** Makes the call, and repeats the call while the refusal has the code in `until`. */
  async #call(step: Call, signal: AbortSignal, onHeard: () => void): Promise<unknown> {
    const words = await this.#words(step, signal, onHeard);
    const target = this.#workspace !== null && step.call in this.#workspace ? this.#workspace : this.#client;
    const method = (target as unknown as Record<string, (...words: unknown[]) => unknown>)[
      NAMES[step.call] ?? step.call
    ];
    if (method === undefined) throw new Error(`the client has no ${step.call}`);
    for (;;) {
      try {
        const value = method.apply(target, words);
        const isMany = typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
        return isMany ? await Array.fromAsync(value as AsyncIterable<unknown>) : await value;
      } catch (error) {
        if (!(error instanceof ServiceFailure) || step.until === undefined || error.code !== step.until) throw error;
      }
    }
  }

  /** The arguments of the call. The call is about the newest job, unless the step names another. */
  async #words({ call, with: given = {}, job_id, heard, interrupt }: Call, signal: AbortSignal, onHeard: () => void) {
    const { program, path, content, ...others } = given;
    const hear = (stream: string) => (text: string) => {
      this.#heard[stream] += text;
      onHeard();
    };
    const callbacks = { onStdout: hear('stdout'), onStderr: hear('stderr') };
    const hears = heard !== undefined || interrupt?.heard !== undefined;
    const options = { ...camelled(others), signal, ...(hears && callbacks) };
    if (call === 'write') return [path, content];
    if (call === 'verify' && this.#workspace !== null) return [options];
    if (ABOUT_A_JOB.includes(call)) return [job_id ?? (await this.#jobs())[0]?.job_id, options];
    return program === undefined ? [options] : [program, options];
  }

  #jobs() {
    return Array.fromAsync(this.#client.listAll());
  }

  async check({
    requests = {},
    keys,
    jobs,
    seconds_between_at_least = {},
    steps_linked,
  }: NonNullable<Scenario['then']>) {
    const seen = (operation: string) => this.#proxy.seen.filter((each) => each.operation === operation);
    expect(Object.fromEntries(Object.keys(requests).map((name) => [name, seen(name).length]))).toEqual(requests);
    for (const [operation, seconds] of Object.entries(seconds_between_at_least)) {
      const [first, second] = seen(operation);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(seconds * 1000);
    }
    const sent = seen('POST /v1/jobs').map(({ key }) => key);
    if (keys !== undefined) expect([new Set(sent).size, sent.includes(undefined)]).toEqual([keys, false]);
    if (jobs !== undefined) expect(await this.#jobs()).toHaveLength(jobs);
    if (steps_linked !== undefined) this.#checkSteps(steps_linked);
  }

  #checkSteps(count: number): void {
    const steps = this.#workspace?.steps ?? [];
    expect(steps).toHaveLength(count);
    let kept: string | null = null;
    for (const { edited, inputDigest, outputDigest, wasKept } of steps) {
      if (!edited && kept !== null) expect(inputDigest).toBe(kept);
      if (wasKept) kept = outputDigest;
    }
  }
}

async function failureOf(made: Promise<unknown>): Promise<unknown> {
  return made.then(
    (value) => expect.unreachable(`it gave ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
}

/** Compares a value with what the scenario expects. Objects may have more members, except for `files`. */
function expectLike(value: unknown, expected: unknown, where: string): void {
  const found = plain(value);
  if (Array.isArray(expected)) {
    expect({ [where]: found }).toEqual({ [where]: expected.map(() => expect.anything() as unknown) });
    for (const [index, each] of expected.entries()) expectLike((found as unknown[])[index], each, `${where}[${index}]`);
  } else if (typeof expected === 'object' && expected !== null) {
    const members = (found ?? {}) as Members;
    if (where.endsWith('.files')) expect(Object.keys(members).toSorted()).toEqual(Object.keys(expected).toSorted());
    for (const [name, member] of Object.entries(expected)) {
      expectLike(members[name in members ? name : camel(name)], member, `${where}.${name}`);
    }
  } else {
    expect({ [where]: found ?? null }).toEqual({ [where]: expected });
  }
}

/** The value in a form that JSON can represent, with bytes as text. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  return value instanceof Map ? (Object.fromEntries(value) as unknown) : value;
}

function camelled(members: Members): Members {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [camel(name), value]));
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Plays a scenario as this tenant. */
async function expectPlayed({ client: given = {}, ...scenario }: Scenario, tenant: string): Promise<void> {
  await using proxy = await openFaultProxy(rig().service.url, scenario.faults ?? []);
  const client = createServiceClient({
    baseUrl: proxy.url,
    apiKey: given.api_key ?? `key-of-${tenant}`,
    retry: {
      baseMilliseconds: 20,
      attemptsMax: given.attempts_max ?? 5,
      patienceSeconds: given.patience_seconds ?? 600,
    },
  });
  const playing = new Play(client, scenario.workspace ? await client.workspace() : null, proxy);
  for (const step of scenario.do ?? []) await playing.do(step);
  await playing.check(scenario.then ?? {});
}

const refusing = scenarios.filter(({ refuses_client }) => refuses_client);
const played = scenarios.filter(({ refuses_client }) => !refuses_client);

test.each(refusing)('$name', ({ client = {} }) => {
  const open = () => createServiceClient({ baseUrl: client.base_url ?? '', apiKey: 'key' });
  expect(open).toThrow(/^baseUrl must be/);
});

test.each(played)('$name', (scenario) => expectPlayed(scenario, `tenant-of-${scenarios.indexOf(scenario)}`));

describe('without a WebSocket, with requests that the service holds:', () => {
  const follows = ({ call, heard, interrupt }: Call) => call === 'follow' || (heard ?? interrupt?.heard) !== undefined;
  const followed = played.filter((scenario) => !scenario.needs?.includes('stream') && scenario.do?.some(follows));
  beforeEach(() => {
    vi.stubGlobal('WebSocket', undefined);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test.each(followed)('$name', (scenario) => expectPlayed(scenario, `paging-tenant-of-${scenarios.indexOf(scenario)}`));
});
