/** Bodies about the service itself: capabilities, whoami, status, public key, health. Spec § Other bodies. */

import { ISOLATION_CLASSES } from './isolation.ts';
import { LIMIT_NAMES, librariesMax } from './limits.ts';
import { BACKENDS } from './posture.ts';
import { NODE_ROLES } from './roles.ts';
import { SCOPES } from './scopes.ts';
import { JobId, Timestamp } from './spellings.ts';
import { TERMINAL_STATUSES } from './status.ts';
import { LanguageName, RequestedLimitsSchema } from './submission.ts';
import { ToolLimitsSchema } from './tools.ts';
import { Each, Nullable, type Static, Type } from './type.ts';

/** A library in a pack, and the names by which a program imports it. For example, the package opencv-python is the module cv2. */
export const PackLibrary = Type.Object({
  language: Type.String({ description: '`python`, or `node` for JavaScript and TypeScript.' }),
  name: Type.String(),
  version: Nullable(Type.String({ description: 'Null if the library does not state it.' })),
  modules: Type.Array(Type.String()),
});
export type PackLibrary = Static<typeof PackLibrary>;

export const RuntimePack = Type.Object({
  name: Type.String(),
  version: Type.String(),
  languages: Type.Array(LanguageName),
  digest: Type.String(),
  libraries: Type.Optional(
    Type.Array(PackLibrary, {
      maxItems: librariesMax,
      description:
        'Its libraries, as they were found when it was built. Absent for the pack `system`, whose libraries are those of the ' +
        'host, and of a pack that an earlier version built.',
    }),
  ),
});
export type RuntimePack = Static<typeof RuntimePack>;

export const Capabilities = Type.Object({
  version: Type.String(),
  languages: Type.Array(LanguageName),
  /** Null if no provider is ready; then no language is available. */
  isolation_class: Nullable(Type.Enum([...ISOLATION_CLASSES])),
  /** The limits that every job's host enforces, as `requirements.enforced` demands; absent in an earlier version. */
  enforced: Type.Optional(Type.Array(Type.Enum([...LIMIT_NAMES]))),
  limits: Type.Object({ defaults: RequestedLimitsSchema, ceilings: RequestedLimitsSchema }),
  /** Bounds for the tools that a program may call; absent if the service's version offers no tools. */
  tools: Type.Optional(
    Type.Object({
      max_tools: Type.Integer(),
      max_schema_bytes: Type.Integer(),
      max_schema_depth: Type.Integer(),
      max_principals: Type.Integer(),
      limits: Type.Object({ defaults: ToolLimitsSchema, ceilings: ToolLimitsSchema }),
    }),
  ),
  artifacts: Type.Object({
    max_files: Type.Integer(),
    max_file_bytes: Type.Integer(),
    max_total_bytes: Type.Integer(),
  }),
  /** Bounds for uploaded files: for one blob, for all blobs of a job, and for all blobs of a tenant. */
  blobs: Type.Object({
    max_blob_bytes: Type.Integer(),
    max_job_bytes: Type.Integer(),
    max_blobs: Type.Integer(),
    max_total_bytes: Type.Integer(),
    /** How long a blob is kept after a job last named it. */
    keep_seconds: Type.Integer(),
  }),
  /** Limits for a job's own libraries: for the archive, and for its unpacked content; absent in an earlier version. */
  libraries: Type.Optional(
    Type.Object({ max_packed_bytes: Type.Integer(), max_bytes: Type.Integer(), max_entries: Type.Integer() }),
  ),
  concurrent_mem_mb_max: Type.Integer(),
  /** A tenant's limits: open waits for results, queued jobs, requests per second, and the size of a burst. */
  per_tenant: Type.Object({
    waits_max: Type.Integer(),
    queue_max: Type.Integer(),
    requests_per_second: Type.Number(),
    requests_burst: Type.Integer(),
  }),
  runtime_packs: Type.Array(RuntimePack),
  features: Type.Array(Type.String()),
  signer: Nullable(Type.Object({ key_id: Type.String(), algorithm: Type.String() })),
});
export type Capabilities = Static<typeof Capabilities>;

export const AUTH_METHODS = ['key', 'jwt', 'legacy'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

export const Whoami = Type.Object({
  tenant: Type.String(),
  principal: Type.String(),
  auth_method: Type.Enum([...AUTH_METHODS]),
  credential_id: Type.String(),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  expires_at: Nullable(Timestamp),
});
export type Whoami = Static<typeof Whoami>;

/** One living node in a service with several nodes, as the node's last beat described it. */
const NodeStatus = Type.Object({
  node: Type.Integer(),
  version: Type.String(),
  roles: Type.Array(Type.Enum([...NODE_ROLES])),
  /** Null if the node runs no programs. */
  isolation_class: Nullable(Type.Enum([...ISOLATION_CLASSES])),
  slots: Type.Integer(),
  slots_used: Type.Integer(),
  /** Jobs that the node has taken and that have not ended. */
  claims: Type.Integer(),
  /** Whether the node has a key and can sign with it. */
  signs: Type.Boolean(),
  last_beat_at: Nullable(Timestamp),
});

/** The newest canary for one class and pack, on the node that reports it. */
export const CanaryStatus = Type.Object({
  isolation_class: Type.Enum([...ISOLATION_CLASSES]),
  runtime_pack: Type.String(),
  job_id: JobId,
  finished_at: Timestamp,
  /** The attempts that the cell did not refuse, or why the canary shows nothing; null if every attempt was refused. */
  problem: Nullable(Type.String()),
});
export type CanaryStatus = Static<typeof CanaryStatus>;

/** A number for each minute; null for a minute about which nothing is known. */
const OfMinutes = Type.Array(Nullable(Type.Integer()));
const QuantilesOfMinutes = Type.Object({ p50: OfMinutes, p95: OfMinutes });

const LastHour = Type.Object(
  {
    /** The start of the first minute. The last minute is still running. */
    from: Timestamp,
    queued: OfMinutes,
    running: OfMinutes,
    ended: Each(TERMINAL_STATUSES, Type.Array(Type.Integer())),
    wait_ms: QuantilesOfMinutes,
    run_ms: QuantilesOfMinutes,
  },
  {
    description:
      'What the answering node counted since its start, at most 60 minutes, the oldest first: the jobs of every tenant that waited and ran, and of your own jobs how they ended here, and how long they waited and ran. An earlier version lacks it.',
  },
);

export const ServiceStatus = Type.Object({
  status: Type.Enum(['ok', 'draining', 'unavailable']),
  version: Type.String(),
  uptime_seconds: Type.Number(),
  queue: Type.Object({
    depth: Type.Integer(),
    capacity: Type.Integer(),
    oldest_age_ms: Nullable(Type.Integer()),
  }),
  running: Type.Integer(),
  draining: Type.Boolean(),
  signer: Type.Object({
    enabled: Type.Boolean(),
    outbox_depth: Type.Integer(),
    last_error: Nullable(Type.String()),
    last_error_at: Nullable(Timestamp),
  }),
  /** The log of statements: how many it has, how many its last head covers, and how many wait. Null if there is no log. */
  log: Nullable(
    Type.Object({
      origin: Type.String(),
      size: Type.Integer(),
      signed_size: Type.Integer(),
      waiting: Type.Integer(),
      /** Why nothing is logged at present; null if nothing prevents it. */
      last_error: Nullable(Type.String()),
      last_error_at: Nullable(Timestamp),
      /** Each witness's last answer: `signs`, `disagrees`, `silent` or `not_asked`. */
      witnesses: Type.Array(Type.Object({ name: Type.String(), state: Type.String() })),
    }),
  ),
  provider: Type.Object({
    backend: Nullable(Type.Enum([...BACKENDS])),
    isolation_class: Nullable(Type.Enum([...ISOLATION_CLASSES])),
    ready: Type.Boolean(),
    /** Why a stronger class was passed over at the start, in one line; null if none was. */
    passed_over: Nullable(Type.String()),
  }),
  /** Parked cells: their number, the memory that they take and the memory that they may take. All are 0 if parking is off. */
  parked: Type.Object({ cells: Type.Integer(), mem_mb: Type.Integer(), mem_mb_max: Type.Integer() }),
  /**
   * Large artifacts and results in an object store: how many have yet to be moved there, how many objects have yet to be removed,
   * and how often since the start a needed object was missing or damaged. Null if there is no object store.
   */
  object_store: Nullable(
    Type.Object({
      reachable: Type.Boolean(),
      to_move: Type.Integer(),
      to_remove: Type.Integer(),
      missing: Type.Integer(),
      damaged: Type.Integer(),
    }),
  ),
  /** The recent results of canaries for the packs that jobs use. An earlier version lacks this member. */
  canaries: Type.Optional(
    Type.Array(Type.Object({ ...CanaryStatus.properties, node: Type.Optional(Type.Integer()) }), {
      description: 'Empty if no canaries are sent, or none has ended yet.',
    }),
  ),
  last_hour: Type.Optional(LastHour),
  /** The living nodes, the oldest first; absent if the service has a single node. */
  nodes: Type.Optional(Type.Array(NodeStatus)),
});
export type ServiceStatus = Static<typeof ServiceStatus>;

/** `trust_notice` says that a key fetched from the signer is not an independent trust anchor. */
export const PublicKey = Type.Object({
  key_id: Type.String(),
  algorithm: Type.Literal('Ed25519'),
  public_key_pem: Type.String(),
  trust_notice: Type.String(),
});
export type PublicKey = Static<typeof PublicKey>;

export const Health = Type.Object({ status: Type.Literal('ok') });
export type Health = Static<typeof Health>;

export const Readiness = Type.Object({
  status: Type.Enum(['ready', 'unready']),
  /** Whether the store can be written, cells can be made, the free-space reserve is free, and new jobs are accepted. */
  checks: Type.Object({
    store: Type.Boolean(),
    provider: Type.Boolean(),
    free_space: Type.Boolean(),
    accepting: Type.Boolean(),
  }),
});
export type Readiness = Static<typeof Readiness>;
