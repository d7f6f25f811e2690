/**
 * The service's settings as data: one table for the environment, the flags of `vouchbox serve` and the documents.
 * `config.ts` reads this table.
 */
import { BACKENDS, FRACTIONAL_LIMITS, LIMIT_CEILINGS, type LimitName } from '@vouchbox/protocol/vocabulary';
import { LOAD_DEFAULTS } from './load-bounds.ts';

/** The allowed values of one setting, in the words of JSON Schema. Bounds are inclusive. */
export interface SettingShape {
  readonly type: 'string' | 'integer' | 'number';
  readonly enum?: readonly string[];
  /** The smallest value. Every number has both bounds. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly description: string;
  /** The default. A setting without a default here is off, or its default depends on the host: `DERIVED_DEFAULTS`. */
  readonly default?: string | number;
}

const text = (description: string) => ({ type: 'string', description }) as const;
const number = (minimum: number, maximum: number, description: string) =>
  ({ type: 'number', minimum, maximum, description }) as const;
const integer = (minimum: number, maximum: number, description: string) =>
  ({ ...number(minimum, maximum, description), type: 'integer' }) as const;
const bound = (description: string) => integer(1, 1_000_000, description);
const count = (fallback: number, description: string) => ({ ...bound(description), default: fallback }) as const;
const oneOf = <const Words extends readonly string[]>(words: Words, fallback: Words[number], description: string) =>
  ({ ...text(description), enum: words, default: fallback }) as const;
/** A setting that is on unless the operator turns it off. */
const onUnless = (description: string) => oneOf(['on', 'off'], 'on', description);
const clampNotice = (limit: LimitName) =>
  `The ceiling of \`limits.${limit}\`: a larger limit of a job is clamped to it.`;
const ceiling = (limit: LimitName) =>
  ({
    ...(FRACTIONAL_LIMITS.has(limit) ? number(0.001, 1_000_000, clampNotice(limit)) : bound(clampNotice(limit))),
    default: LIMIT_CEILINGS[limit],
  }) as const;

/** The types, bounds and defaults of all settings. Defaults that depend on the host are in `DERIVED_DEFAULTS`. */
const SHAPES = {
  SERVICE_HOST: { ...text('Address to listen on.'), default: '127.0.0.1' },
  SERVICE_PORT: { ...integer(0, 65_535, 'TCP port to listen on; 0 picks a free one.'), default: 8080 },
  SERVICE_DATA_DIR: { ...text("Directory of the service's data."), default: 'data' },
  SERVICE_DATABASE_URL: {
    ...text('The store: `sqlite:PATH` or `postgres://…`. By default it is a file in the data directory.'),
    pattern: '^(sqlite:|postgres(ql)?://).+',
  },
  SERVICE_STORE_CHECK: oneOf(
    ['off', 'quick', 'full'],
    'off',
    'The check at the start: `quick` checks the file of the store, `full` also every chain and receipt.',
  ),
  SERVICE_ROLES: {
    ...text(
      'The roles of this node, separated by commas: `api` serves callers, `executor` runs programs, `signer` signs. Fewer than all need PostgreSQL.',
    ),
    default: 'api,executor,signer',
  },
  SERVICE_PROVIDER: oneOf(
    ['auto', ...BACKENDS.toReversed()],
    'auto',
    'The provider that isolates jobs. `auto` takes the strongest one that passes its preflight, and never the subprocess.',
  ),
  SERVICE_NAMESPACE_LAUNCHER: oneOf(
    ['auto', 'fork', 'crun'],
    'auto',
    'The builder of cells of the namespace class: `fork` is the launcher of Vouchbox, `crun` is a runtime that starts for each cell. `auto` is `fork` if the set-up has built the launcher.',
  ),
  SERVICE_GVISOR_STARTER: oneOf(
    ['auto', 'direct', 'runsc'],
    'auto',
    'The starter of cells of the gVisor class: `direct` is a program of Vouchbox, `runsc` is the command `runsc run`. `auto` is `direct` if the set-up has built that program for this release of runsc.',
  ),
  SERVICE_LOOPBACK: oneOf(
    ['auto', 'on', 'off'],
    'auto',
    "Whether programs may reach themselves over `127.0.0.1` and `::1`, TCP and UDP. `auto`: only if they do not share the host's kernel.",
  ),
  SERVICE_RUNTIME_PACKS_DIR: text('Directory of runtime packs.'),
  SERVICE_LEGACY_KEYS: text('Keys with every scope, as `tenant=key`, separated by commas.'),
  SERVICE_JWT_ISSUER: text('The `iss` of RFC 9068 access tokens to accept. Without it, no access token is accepted.'),
  SERVICE_JWT_AUDIENCE: text('The `aud` that access tokens must name. Needed with the issuer.'),
  SERVICE_JWT_JWKS: text("The issuer's JWK set: a path or an https address. Needed with the issuer."),
  SERVICE_JWT_TENANT_CLAIM: { ...text('The claim of access tokens that names the tenant.'), default: 'tenant_id' },
  SERVICE_ALLOWED_ORIGINS: text(
    "Origins whose pages may open streams, separated by commas, beside that of the service's own host.",
  ),
  SERVICE_METRICS_TOKEN: {
    ...text('Bearer token of GET /metrics. Without it the route is off.'),
    pattern: '^[\\x21-\\x7e]{1,512}$',
  },
  SERVICE_OTLP_ENDPOINT: {
    ...text('Base address of an OpenTelemetry collector: traces go to its /v1/traces. Without it none are made.'),
    pattern: '^https?://.+',
  },
  SERVICE_ATTESTATION_MODE: onUnless('Whether results are signed. `off` produces no signatures.'),
  // These are about the log of signed statements. `SERVICE_LOG_LEVEL` is about the lines that a process writes.
  SERVICE_LOG_COUNTER: onUnless(
    'Whether a signed statement has the number of the job in its tenant. Its readers then know how many jobs the tenant had.',
  ),
  SERVICE_LOG_HOST: {
    ...text('The host name of a public log of signed statements. With a log, the number of jobs is public.'),
    pattern: '^[A-Za-z0-9.-]{1,200}$',
  },
  SERVICE_LOG_PROMISES: oneOf(
    ['asked', 'all'],
    'asked',
    'Which jobs get a signed promise of an answer in the log: those that ask, or all.',
  ),
  SERVICE_LOG_PROMISE_SECONDS: {
    ...integer(
      10,
      31_536_000,
      'Seconds within which the log has the result of a promised job, or a statement that the job waits.',
    ),
    default: 600,
  },
  SERVICE_LOG_WITNESSES: text(
    'File with the witnesses of the log, one a line: the key as `NAME+HINT+BASE64`, and the address. One witness must answer before anything is logged.',
  ),
  SERVICE_CANARIES: onUnless('Whether signed canaries try what cells must refuse.'),
  SERVICE_LINKS: oneOf(
    ['on', 'off'],
    'off',
    'Whether a caller may make links by which anyone reads the result of one job, for seven days at most.',
  ),
  SERVICE_RETENTION_DAYS: number(
    0.001,
    100_000,
    'Days that a job is kept after its end, with its idempotency key. Old jobs are removed every ten minutes. By default, jobs are kept forever.',
  ),
  SERVICE_CONCURRENCY: integer(1, 1024, 'Jobs that run at once.'),
  SERVICE_TENANT_CONCURRENCY: integer(1, 1024, 'Jobs of one tenant that run at once.'),
  SERVICE_CONCURRENT_MEM_MB_MAX: integer(
    1,
    100_000_000,
    'Sum of the memory limits of running jobs, in MiB; in gVisor each cell counts for 36 more.',
  ),
  SERVICE_PARKED_MB_MAX: {
    ...integer(
      0,
      100_000_000,
      'Memory, in MiB, of parked cells, beside that of running jobs. With 0, a cell is made when its job comes.',
    ),
    default: 256,
  },
  SERVICE_QUEUE_MAX: bound('Jobs that may wait for a slot.'),
  SERVICE_TENANT_QUEUE_MAX: bound('Jobs of one tenant that may wait for a slot.'),
  SERVICE_RATE_PER_SECOND: number(0.01, 1_000_000, 'Requests a second that one tenant may make on average.'),
  SERVICE_RATE_BURST: bound('Requests that one tenant may make at once.'),
  SERVICE_WAITS_MAX: bound('Result waits held at once.'),
  SERVICE_TENANT_WAITS_MAX: bound('Result waits held at once for one tenant.'),
  SERVICE_STREAMS_MAX: bound('Streams open at once.'),
  SERVICE_TENANT_STREAMS_MAX: bound('Streams open at once for one tenant.'),
  SERVICE_BODY_READS_MAX: count(24, 'Request bodies read at once.'),
  SERVICE_TENANT_BODY_READS_MAX: count(8, 'Request bodies read at once for one tenant.'),
  SERVICE_RESPONSES_MAX: count(40, 'Large responses sent at once.'),
  SERVICE_TENANT_RESPONSES_MAX: count(12, 'Large responses sent at once for one tenant.'),
  SERVICE_PEER_CONNECTIONS_MAX: {
    ...integer(
      1,
      256,
      'Connections without a live credential from one address, or one IPv6 /64 network. Set 256 behind a proxy.',
    ),
    default: 64,
  },
  SERVICE_FREE_SPACE_RESERVE_MB: integer(
    0,
    1_000_000_000,
    'Space of the data directory, in MiB, that no new job may take.',
  ),
  SERVICE_BLOB_HOURS: {
    ...number(0.01, 100_000, 'Hours that an uploaded file is kept after it was last uploaded or named by a job.'),
    default: 24,
  },
  SERVICE_TENANT_BLOBS_MAX: count(256, 'Uploaded files that one tenant may have.'),
  SERVICE_TENANT_BLOBS_MB_MAX: count(
    1024,
    'MiB that the uploaded files and the large outputs of one tenant may have together.',
  ),
  SERVICE_OBJECT_STORE_URL: {
    ...text(
      'An S3-compatible bucket for large artifacts and results: `https://HOST/BUCKET`, or with a prefix behind it. Without it, all of them are in the store.',
    ),
    pattern: '^https?://[A-Za-z0-9.:\\[\\]-]+/[A-Za-z0-9._/-]+$',
  },
  SERVICE_OBJECT_STORE_REGION: {
    ...text('The region that requests to the object store are signed for.'),
    pattern: '^[A-Za-z0-9-]{1,64}$',
    default: 'us-east-1',
  },
  SERVICE_OBJECT_STORE_ACCESS_KEY: {
    ...text('The access key of the object store. Needed with its address.'),
    pattern: '^[\\x21-\\x7e]{1,512}$',
  },
  SERVICE_OBJECT_STORE_SECRET_KEY: {
    ...text('The secret key of the object store. Needed with its address.'),
    pattern: '^[\\x21-\\x7e]{1,512}$',
  },
  SERVICE_OBJECT_STORE_MIN_KB: {
    ...integer(
      64,
      1_000_000,
      'Artifacts and results that take at least this many KiB in the store move to the object store.',
    ),
    default: 1024,
  },
  SERVICE_CEILING_WALL_SECONDS: ceiling('wall_seconds'),
  SERVICE_CEILING_CPU_SECONDS: ceiling('cpu_seconds'),
  SERVICE_CEILING_MEM_MB: bound(clampNotice('mem_mb')),
  SERVICE_CEILING_MAX_PIDS: ceiling('max_pids'),
  SERVICE_CEILING_MAX_FILE_MB: ceiling('max_file_mb'),
  SERVICE_DRAIN_SECONDS: {
    ...number(0, 3600, 'Seconds that running jobs may continue after the service was told to stop.'),
    default: 5,
  },
  SERVICE_LOG_LEVEL: oneOf(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'The least severe log line that is written.',
  ),
} as const satisfies Record<string, SettingShape>;

type Shapes = typeof SHAPES;
export type SettingName = keyof Shapes;

type ValueOf<Shape extends SettingShape> = Shape extends { enum: readonly (infer Word)[] }
  ? Word
  : Shape extends { type: 'string' }
    ? string
    : number;

/** The value of every setting; undefined if a setting is not given and has no default. */
export type SettingValues = {
  readonly [Name in SettingName]:
    | ValueOf<Shapes[Name]>
    | (Shapes[Name] extends { default: unknown } ? never : undefined);
};

/** The names of all settings, in the order in which they are documented. */
export const SETTING_NAMES = Object.keys(SHAPES) as SettingName[];

/** Defaults that depend on the host or on another setting, in words. */
const DERIVED_DEFAULTS: Partial<Record<SettingName, string>> = {
  SERVICE_DATABASE_URL: 'sqlite:<data directory>/svc.db',
  SERVICE_RUNTIME_PACKS_DIR: '<data directory>/packs',
  SERVICE_CONCURRENCY: "the host's cores, and half as many",
  SERVICE_TENANT_CONCURRENCY: 'all but one, or all while no second tenant has ever submitted a job',
  SERVICE_CONCURRENT_MEM_MB_MAX: "three quarters of the host's memory",
  ...LOAD_DEFAULTS,
  SERVICE_FREE_SPACE_RESERVE_MB: 'the larger of 1024 and 5 % of the file system',
  SERVICE_CEILING_MEM_MB: `${LIMIT_CEILINGS.mem_mb}, or less if all jobs together may have less`,
};

/** Settings whose values are never shown. */
export const SECRET_SETTINGS: ReadonlySet<SettingName> = new Set<SettingName>([
  'SERVICE_LEGACY_KEYS',
  'SERVICE_METRICS_TOKEN',
  'SERVICE_DATABASE_URL',
  'SERVICE_OTLP_ENDPOINT',
  // The address may contain keys.
  'SERVICE_OBJECT_STORE_URL',
  'SERVICE_OBJECT_STORE_ACCESS_KEY',
  'SERVICE_OBJECT_STORE_SECRET_KEY',
]);

/** One setting in the form in which the command line and the documents show it. */
export interface Setting {
  readonly name: SettingName;
  /** The flag without its dashes: `data-dir` is given as `--data-dir`. */
  readonly flag: string;
  readonly description: string;
  /** The default in words; null if the setting is off by default. */
  readonly defaultText: string | null;
  /** The allowed values, as the end of a sentence. */
  readonly allowed: string;
}

/** Every setting, in the order in which they are documented. */
export const SETTINGS: readonly Setting[] = SETTING_NAMES.map((name) => {
  const shape: SettingShape = SHAPES[name];
  return {
    name,
    flag: name.slice('SERVICE_'.length).toLowerCase().replaceAll('_', '-'),
    description: shape.description,
    defaultText: DERIVED_DEFAULTS[name] ?? (shape.default === undefined ? null : String(shape.default)),
    allowed: allowedValues(shape),
  };
});

/** Whether there is a setting with this name. */
export function isSettingName(name: string): name is SettingName {
  return Object.hasOwn(SHAPES, name);
}

/** The allowed values of one setting. */
export function settingShape(name: SettingName): SettingShape {
  return SHAPES[name];
}

function allowedValues(shape: SettingShape): string {
  if (shape.enum !== undefined) return `one of ${shape.enum.join(', ')}`;
  if (shape.type === 'integer') return `a whole number from ${shape.minimum} to ${shape.maximum}`;
  if (shape.type === 'number') return `a number from ${shape.minimum} to ${shape.maximum}`;
  if (shape.pattern !== undefined) return `text that matches ${shape.pattern}`;
  return 'text';
}
