/** The remarks that `vouchbox run` adds to a program's own output: how the program ended, and what it lacked. */
import type { Capabilities, EffectiveLimits, LimitsInput, ServiceClient } from '@vouchbox/client';
import type { EventData, EventKind, JobEvent } from '@vouchbox/protocol';
import {
  clampedLimits,
  fileBytesMax,
  LIMIT_NAMES,
  type LimitName,
  type MissingModule,
  missingModule,
  missingModuleRemark,
  sizeText,
} from '@vouchbox/protocol/vocabulary';

/** Violations that only repeat why the program ended, each with the limit that the violation is about. */
const LIMIT_OF_VIOLATION: Readonly<Record<string, { readonly name: LimitName; readonly what: string; unit: string }>> =
  {
    wall_time: { name: 'wall_seconds', what: 'the wall clock limit', unit: 's' },
    cpu_time: { name: 'cpu_seconds', what: 'the CPU time limit', unit: 's' },
    memory: { name: 'mem_mb', what: 'the memory limit', unit: 'MiB' },
  };

/** The messages of resolvers, kernels and libraries on a host without a network. */
const NO_NETWORK =
  /No route to host|Network is unreachable|Name or service not known|Temporary failure in name resolution|getaddrinfo|E(HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN|Could not resolve host|Address family not supported/;

/** A cell that allows no sockets refuses to make one. The program's output then names a socket before the refusal. */
const NAMES_SOCKET = /socket|\/dev\/(tcp|udp)\//;
const REFUSED = /Operation not permitted|EPERM/;

/** The message of a cell that could not start the program. */
const NOT_UNPACKED = /^The libraries cannot be unpacked: /;

/** The parts of a submission that a remark may be about. */
export interface Asked {
  readonly limits?: LimitsInput | undefined;
  /** The libraries, as the user named them. */
  readonly libraries?: string | undefined;
  /** A file for the whole stdout. */
  readonly wholeStdout?: string | undefined;
}

/** Reads the events of one job and collects the remarks. */
export class Remarks {
  readonly #client: ServiceClient;
  /** The violation that reports the limit that ended the program; null if no limit ended it. */
  #ended: EventData<'violation'> | null = null;
  #namesSocket = false;
  #missesNetwork = false;
  #missing: MissingModule | null = null;
  #isUnpacked = true;
  readonly #paths = new Set<string>();
  readonly #asked: Asked;
  #lost = false;
  #effective: EffectiveLimits | null = null;

  constructor(client: ServiceClient, asked: Asked) {
    this.#client = client;
    this.#asked = asked;
  }

  /** Whether a requested file is lost. */
  get lost(): boolean {
    return this.#lost;
  }

  /** The limits in force; null until the program has started. */
  get effective(): EffectiveLimits | null {
    return this.#effective;
  }

  /** Whether there already was a remark about this output. */
  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /** The lines to print after an event; most events have none. */
  async on(event: JobEvent): Promise<readonly string[]> {
    const { data } = event;
    const kind = event.kind as EventKind;
    switch (kind) {
      case 'stderr':
        this.#readError((data as EventData<'stderr'>).text);
        return [];
      case 'started':
        return this.#onStart(data as EventData<'started'>);
      case 'violation':
        return this.#onViolation(data as EventData<'violation'>);
      case 'truncated':
        return [truncationRemark(data as EventData<'truncated'>, this.#asked.wholeStdout)];
      case 'finished':
        return [
          ...this.#librariesRemark(),
          ...this.#networkRemark(),
          ...(await this.#missingRemark()),
          ...(await this.#endingRemark(data as EventData<'finished'>)),
        ];
      case 'queued':
      case 'cancel_requested':
      case 'stdout':
      case 'artifact':
      case 'large_output':
      case 'tool_call':
      case 'tool_result':
        return [];
      default:
        // A kind that a newer service added.
        void (kind satisfies never);
        return [];
    }
  }

  async #onStart({ limits }: EventData<'started'>): Promise<readonly string[]> {
    this.#effective = limits;
    const asked = this.#asked.limits ?? {};
    const held = { ...limits, ...(await this.#watched(asked, limits)) };
    return clampedRemarks(asked, held).map(([name, remark]) => `--limit ${name}=${remark}`);
  }

  /** The requested limits that nothing enforces here, clamped to the service's ceilings. */
  async #watched(asked: LimitsInput, limits: EffectiveLimits): Promise<Partial<EffectiveLimits>> {
    const names = LIMIT_NAMES.filter((name) => asked[name] !== undefined && limits[name] === null);
    if (names.length === 0) return {};
    const ceilings = (await this.#capabilities())?.limits.ceilings;
    return Object.fromEntries(names.map((name) => [name, Math.min(asked[name] ?? 0, ceilings?.[name] ?? Infinity)]));
  }

  /** The service's capabilities; null if the service does not state them. */
  #capabilities(): Promise<Capabilities | null> {
    return this.#client.capabilities().catch(() => null);
  }

  #readError(text: string): void {
    this.#missing ??= missingModule(text);
    this.#isUnpacked &&= !NOT_UNPACKED.test(text);
    this.#namesSocket ||= NAMES_SOCKET.test(text);
    this.#missesNetwork ||= NO_NETWORK.test(text) || (this.#namesSocket && REFUSED.test(text));
  }

  async #onViolation(violation: EventData<'violation'>): Promise<readonly string[]> {
    const { type, message, path } = violation;
    if (path !== undefined) this.#paths.add(path);
    this.#lost ||= type.startsWith('output_');
    if (Object.hasOwn(LIMIT_OF_VIOLATION, type) && violation.phase === undefined) {
      this.#ended = violation;
      return [];
    }
    const told = path === undefined || message.startsWith(path) ? message : `${path}: ${message}`;
    return [`${type}: ${told}${await this.#adviceOn(violation)}`];
  }

  /** How a larger file can be written or returned; empty if it cannot. */
  async #adviceOn({ type, limit }: EventData<'violation'>): Promise<string> {
    if (type === 'file_size') return await this.#howFar('max_file_mb', limit);
    return type === 'output_size' && limit === fileBytesMax ? '; --large-output takes larger files' : '';
  }

  #librariesRemark(): readonly string[] {
    const { libraries } = this.#asked;
    if (libraries === undefined || this.#isUnpacked) return [];
    return [`--libraries ${libraries} cannot be unpacked: \`vouchbox libraries pack\` writes a valid archive`];
  }

  #networkRemark(): readonly string[] {
    return this.#missesNetwork ? ['programs have no network: give them what they need with --file'] : [];
  }

  async #missingRemark(): Promise<readonly string[]> {
    const missing = this.#missing;
    const { libraries } = this.#asked;
    if (missing === null) return [];
    if (libraries !== undefined) {
      const root = `its root must have ${missing.module}, as ${missing.language === 'python' ? 'pip' : 'npm'} installs it`;
      return [`the program did not find ${missing.module} in --libraries ${libraries}: ${root}`];
    }
    const capabilities = await this.#capabilities();
    return capabilities === null ? [] : [missingModuleRemark(missing, capabilities.runtime_packs, '--runtime')];
  }

  async #endingRemark({ status, terminal_reason, signal }: EventData<'finished'>): Promise<readonly string[]> {
    if (terminal_reason === 'exited') return [];
    const limit = this.#ended === null ? null : await this.#limitRemark(this.#ended);
    const reason = `${terminal_reason}${signal === null ? '' : ` (${signal})`}`;
    return [limit === null && reason === status ? `the job was ${status}` : `${status}: ${limit ?? reason}`];
  }

  /** Names the limit that ended a program, and how far it can be raised. */
  async #limitRemark({ type, limit }: EventData<'violation'>): Promise<string | null> {
    const named = LIMIT_OF_VIOLATION[type];
    if (named === undefined) return null;
    const { name, what, unit } = named;
    // A violation states its limit only if something enforces the limit.
    const ended = `${what}${limit === undefined ? ', which is watched here,' : ` of ${limit} ${unit}`} ended the program`;
    return `${ended}${await this.#howFar(name, limit)}`;
  }

  /** How far a limit can be raised; empty if the service does not say. */
  async #howFar(name: LimitName, limit: number | undefined): Promise<string> {
    const most = (await this.#capabilities())?.limits.ceilings[name];
    if (most === undefined) return '';
    const isMost = limit !== undefined && limit >= most;
    return isMost ? '; this service allows no more' : `; --limit ${name}=N raises it, up to ${most}`;
  }
}

/** Each limit that differs from the requested one, with words such as `9 became 4, the most that this service allows`. */
export function clampedRemarks(...limits: Parameters<typeof clampedLimits>): [name: LimitName, remark: string][] {
  return clampedLimits(...limits).map(([name, asked, held]) => [
    name,
    `${asked} became ${held}, the ${asked > held ? 'most' : 'least'} that this service allows`,
  ]);
}

/** Names the limit that truncated the output: for many short lines, a number of lines, because their author thinks of lines. */
function truncationRemark(
  { stream, records_stored, limit_records, bytes_stored }: EventData<'truncated'>,
  wholeStdout: string | undefined,
): string {
  const kept = records_stored >= limit_records ? `${limit_records} lines` : sizeText(bytes_stored);
  const recorded = `only its first ${kept} are recorded`;
  if (stream !== 'stdout') return `${stream} is truncated: ${recorded}; write more to a file in output/`;
  return wholeStdout === undefined
    ? `stdout is truncated: ${recorded}; --whole-stdout FILE takes all of it`
    : `stdout is truncated here: ${recorded}; all of it goes to ${wholeStdout}`;
}
