/**
 * The settings of one process, read once when it starts. Only this file reads the environment. Each setting is a
 * `SERVICE_*` variable and a flag of `vouchbox serve` with the same meaning. If both are given, the flag wins. If a setting
 * is unknown or out of bounds, the start fails.
 */
import { availableParallelism, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { LIMIT_CEILINGS, type NodeRole, printable, type RequestedLimits } from '@vouchbox/protocol/vocabulary';
import type { LegacyKey } from '../access/legacy.ts';
import { isTenantName } from '../access/tenant.ts';
import { StartError } from '../ground/start-error.ts';
import { type Bound, type LoadBounds, loadBoundsOf } from './load-bounds.ts';
import { type ObjectStoreConfig, objectStoreOf } from './object-store-settings.ts';
import { parseRoles } from './roles.ts';
import { secretsFrom } from './secret-files.ts';
import {
  isSettingName,
  SECRET_SETTINGS,
  SETTING_NAMES,
  SETTINGS,
  type SettingName,
  type SettingShape,
  type SettingValues,
  settingShape,
} from './settings.ts';

/** The issuer whose access tokens are accepted. */
export interface JwtConfig {
  readonly issuer: string;
  readonly audience: string;
  /** Where the issuer's keys are, as an absolute path or an https address. */
  readonly jwks: string;
  readonly tenantClaim: string;
}

/** The parsed settings of one process. Every value is within its bounds. */
export interface Config extends LoadBounds {
  readonly host: string;
  readonly port: number;
  /** An absolute path. */
  readonly dataDir: string;
  readonly databaseUrl: string | null;
  readonly storeCheck: SettingValues['SERVICE_STORE_CHECK'];
  /** This node's roles: at least one, and all of them in a service that is alone. */
  readonly roles: readonly NodeRole[];
  readonly provider: SettingValues['SERVICE_PROVIDER'];
  readonly namespaceLauncher: SettingValues['SERVICE_NAMESPACE_LAUNCHER'];
  readonly gvisorStarter: SettingValues['SERVICE_GVISOR_STARTER'];
  readonly loopback: SettingValues['SERVICE_LOOPBACK'];
  /** An absolute path. Null means the packs directory inside the data directory. */
  readonly runtimePacksDir: string | null;
  readonly legacyKeys: readonly LegacyKey[];
  /** The origins whose pages may open streams, in lower case as browsers spell them. */
  readonly allowedOrigins: readonly string[];
  /** Null if no access tokens are accepted. */
  readonly jwt: JwtConfig | null;
  readonly metricsToken: string | null;
  /** The address to which traces are posted; null if no traces are made. */
  readonly tracesUrl: string | null;
  readonly attestationMode: SettingValues['SERVICE_ATTESTATION_MODE'];
  readonly logCounter: SettingValues['SERVICE_LOG_COUNTER'];
  readonly canaries: SettingValues['SERVICE_CANARIES'];
  /** The host in the log's name; null if no log is kept. */
  readonly logHost: string | null;
  /** The path of the file that names the log's witnesses; null if the log has none. */
  readonly logWitnesses: string | null;
  /** Whether all jobs get promises or only those that ask, and within how many seconds the log answers. Null without a log. */
  readonly promises: { readonly forAll: boolean; readonly seconds: number } | null;
  readonly links: SettingValues['SERVICE_LINKS'];
  /** How many days ended jobs are kept; null if they are kept forever. */
  readonly retentionDays: number | null;
  readonly concurrency: number;
  /** How many slots one tenant may hold. Null means all until a second tenant submits its first job, and then all but one. */
  readonly tenantConcurrency: number | null;
  readonly concurrentMemMbMax: number;
  /** The memory for parked cells in MiB. With 0, no cell is parked. */
  readonly parkedMbMax: number;
  readonly bodyReads: Bound;
  readonly responses: Bound;
  /** How many connections a peer may hold without a live credential. */
  readonly peerConnections: number;
  /** The reserved free space in MiB. Null means 1 GiB or 5 %, whichever is larger. */
  readonly freeSpaceReserveMb: number | null;
  /** A tenant's limits for uploads, and how long a blob is kept if no job names it. */
  readonly blobs: { readonly perTenant: number; readonly bytesPerTenant: number; readonly keepSeconds: number };
  /** Where large contents are kept; null if all contents are in the store. */
  readonly objectStore: ObjectStoreConfig | null;
  readonly ceilings: RequestedLimits;
  readonly drainSeconds: number;
  readonly logLevel: SettingValues['SERVICE_LOG_LEVEL'];
}

/**
 * Reads the settings. `flags` are keyed by `Setting.flag`. Flags take precedence over the environment, and the environment over
 * the files of secrets. An empty value counts as not given. Relative paths are resolved against the working directory.
 *
 * @throws StartError, which names the unknown or wrong setting and what is allowed. The message never shows a secret.
 */
export function loadConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  flags: Readonly<Record<string, string | undefined>> = {},
): Config {
  const byFlag = fromFlags(flags);
  const given = { ...secretsFrom(environment['CREDENTIALS_DIRECTORY']), ...fromEnvironment(environment), ...byFlag };
  return configOf(checked(given, byFlag));
}

/** A message repeats only this many characters of a value, because somebody else may have set the value. */
const shownCharactersMax = 80;

const UNKNOWN_HINT = { hint: '`vouchbox serve --help` lists the settings' };

function fromEnvironment(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('SERVICE_') || !value) continue;
    if (!isSettingName(name)) {
      throw new StartError(`${printable(name, shownCharactersMax)} is not a setting`, UNKNOWN_HINT);
    }
    given[name] = value;
  }
  return given;
}

function fromFlags(flags: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [flag, value] of Object.entries(flags)) {
    const setting = SETTINGS.find((candidate) => candidate.flag === flag);
    if (setting === undefined)
      throw new StartError(`--${printable(flag, shownCharactersMax)} is not a setting`, UNKNOWN_HINT);
    if (value) given[setting.name] = value;
  }
  return given;
}

type GivenSettings = Readonly<Record<string, string>>;

/** @param byFlag the settings that were given as flags: a message about such a setting names its flag */
function checked(given: GivenSettings, byFlag: GivenSettings): SettingValues {
  const values = SETTING_NAMES.map((name) => [name, valueGiven(name, given[name], name in byFlag)]);
  return Object.fromEntries(values) as SettingValues;
}

function valueGiven(name: SettingName, text: string | undefined, isByFlag: boolean): string | number | undefined {
  const shape = settingShape(name);
  if (text === undefined) return shape.default;
  const value = shape.type === 'string' ? text : numberOf(text);
  if (!fits(value, shape)) throw badValue(name, text, isByFlag);
  return value;
}

/** Reads a number. Only plain decimals count, although `Number()` would also accept `0x10`, `1e3` and blanks. */
function numberOf(text: string): number {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

function fits(value: string | number, { type, enum: words, pattern, minimum = 0, maximum = 0 }: SettingShape): boolean {
  if (typeof value === 'number') {
    return value >= minimum && value <= maximum && (type === 'number' || Number.isInteger(value));
  }
  return (words?.includes(value) ?? true) && (pattern === undefined || new RegExp(pattern, 'u').test(value));
}

function configOf(values: SettingValues): Config {
  const concurrentMemMbMax = values.SERVICE_CONCURRENT_MEM_MB_MAX ?? hostMemoryShareMb();
  const memMbCeiling = values.SERVICE_CEILING_MEM_MB ?? Math.min(LIMIT_CEILINGS.mem_mb, concurrentMemMbMax);
  if (memMbCeiling > concurrentMemMbMax) {
    throw new StartError(
      `SERVICE_CEILING_MEM_MB is ${memMbCeiling}, more than all jobs together may have (${concurrentMemMbMax})`,
      { hint: 'lower it or raise SERVICE_CONCURRENT_MEM_MB_MAX' },
    );
  }
  // A job waits for a commit before and after its program. To keep every core busy meanwhile, more jobs than cores may run.
  const concurrency = values.SERVICE_CONCURRENCY ?? Math.floor(1.5 * availableParallelism());
  const legacyKeys = parseLegacyKeys(values.SERVICE_LEGACY_KEYS ?? '');
  const metricsToken = values.SERVICE_METRICS_TOKEN ?? null;
  if (legacyKeys.some(({ key }) => key === metricsToken)) {
    throw new StartError('SERVICE_METRICS_TOKEN repeats a key of SERVICE_LEGACY_KEYS', {
      hint: 'the token of the metrics gives access to nothing else, and no key gives access to the metrics',
    });
  }
  return {
    host: values.SERVICE_HOST,
    port: values.SERVICE_PORT,
    dataDir: resolve(values.SERVICE_DATA_DIR),
    databaseUrl: values.SERVICE_DATABASE_URL ?? null,
    storeCheck: values.SERVICE_STORE_CHECK,
    roles: parseRoles(values.SERVICE_ROLES),
    provider: values.SERVICE_PROVIDER,
    namespaceLauncher: values.SERVICE_NAMESPACE_LAUNCHER,
    gvisorStarter: values.SERVICE_GVISOR_STARTER,
    loopback: values.SERVICE_LOOPBACK,
    runtimePacksDir: values.SERVICE_RUNTIME_PACKS_DIR === undefined ? null : resolve(values.SERVICE_RUNTIME_PACKS_DIR),
    legacyKeys,
    allowedOrigins: parseOrigins(values.SERVICE_ALLOWED_ORIGINS ?? ''),
    jwt: jwtOf(values),
    metricsToken,
    tracesUrl: values.SERVICE_OTLP_ENDPOINT === undefined ? null : tracesUrlOf(values.SERVICE_OTLP_ENDPOINT),
    attestationMode: values.SERVICE_ATTESTATION_MODE,
    ...logOf(values),
    ...{ canaries: values.SERVICE_CANARIES, links: values.SERVICE_LINKS },
    retentionDays: values.SERVICE_RETENTION_DAYS ?? null,
    concurrency,
    tenantConcurrency: values.SERVICE_TENANT_CONCURRENCY ?? null,
    concurrentMemMbMax,
    parkedMbMax: values.SERVICE_PARKED_MB_MAX,
    ...loadBoundsOf(values, concurrency),
    bodyReads: { total: values.SERVICE_BODY_READS_MAX, perTenant: values.SERVICE_TENANT_BODY_READS_MAX },
    responses: { total: values.SERVICE_RESPONSES_MAX, perTenant: values.SERVICE_TENANT_RESPONSES_MAX },
    peerConnections: values.SERVICE_PEER_CONNECTIONS_MAX,
    freeSpaceReserveMb: values.SERVICE_FREE_SPACE_RESERVE_MB ?? null,
    blobs: blobsOf(values),
    objectStore: objectStoreOf(values),
    ceilings: {
      wall_seconds: values.SERVICE_CEILING_WALL_SECONDS,
      cpu_seconds: values.SERVICE_CEILING_CPU_SECONDS,
      mem_mb: memMbCeiling,
      max_pids: values.SERVICE_CEILING_MAX_PIDS,
      max_file_mb: values.SERVICE_CEILING_MAX_FILE_MB,
    },
    drainSeconds: values.SERVICE_DRAIN_SECONDS,
    logLevel: values.SERVICE_LOG_LEVEL,
  };
}

function logOf(values: SettingValues): Pick<Config, 'logCounter' | 'logHost' | 'logWitnesses' | 'promises'> {
  const forAll = values.SERVICE_LOG_PROMISES === 'all';
  const isKept = values.SERVICE_LOG_HOST !== undefined && values.SERVICE_ATTESTATION_MODE === 'on';
  if (!isKept && forAll) {
    throw new StartError('SERVICE_LOG_PROMISES is all, and no log is kept', {
      hint: 'name the log by SERVICE_LOG_HOST, and leave signing on',
    });
  }
  return {
    logCounter: values.SERVICE_LOG_COUNTER,
    logHost: values.SERVICE_LOG_HOST ?? null,
    logWitnesses: values.SERVICE_LOG_WITNESSES ?? null,
    promises: isKept ? { forAll, seconds: values.SERVICE_LOG_PROMISE_SECONDS } : null,
  };
}

function blobsOf(values: SettingValues): Config['blobs'] {
  return {
    perTenant: values.SERVICE_TENANT_BLOBS_MAX,
    bytesPerTenant: values.SERVICE_TENANT_BLOBS_MB_MAX * 2 ** 20,
    keepSeconds: Math.round(values.SERVICE_BLOB_HOURS * 3600),
  };
}

function jwtOf(values: SettingValues): JwtConfig | null {
  const { SERVICE_JWT_ISSUER: issuer, SERVICE_JWT_AUDIENCE: audience, SERVICE_JWT_JWKS: jwks } = values;
  if (issuer === undefined && audience === undefined && jwks === undefined) return null;
  if (issuer === undefined || audience === undefined || jwks === undefined) {
    const missing = issuer === undefined ? 'ISSUER' : audience === undefined ? 'AUDIENCE' : 'JWKS';
    throw new StartError(`SERVICE_JWT_${missing} is not set, and access tokens cannot be checked without it`, {
      hint: 'set SERVICE_JWT_ISSUER, SERVICE_JWT_AUDIENCE and SERVICE_JWT_JWKS, or none of them',
    });
  }
  return { issuer, audience, jwks: keySetOf(jwks), tenantClaim: values.SERVICE_JWT_TENANT_CLAIM };
}

/** Checks where the keys come from. Plain http is refused, because anybody on the network path could replace the keys. */
function keySetOf(source: string): string {
  if (!/^https?:/i.test(source)) return resolve(source);
  if (source.startsWith('https://') && URL.canParse(source)) return source;
  throw new StartError('SERVICE_JWT_JWKS must be a path or an https address');
}

/** Appends the path for traces to a base address, as OpenTelemetry's exporters do. */
function tracesUrlOf(endpoint: string): string {
  if (!URL.canParse(endpoint)) throw badValue('SERVICE_OTLP_ENDPOINT', endpoint);
  return `${endpoint.replace(/\/+$/, '')}/v1/traces`;
}

/** Three quarters of the memory that this process may use. That is the host's memory, or less in a container. */
function hostMemoryShareMb(): number {
  const constrained = process.constrainedMemory();
  const bytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.max(1, Math.floor((bytes * 0.75) / 2 ** 20));
}

const LEGACY_KEY_PATTERN = /^[\x21-\x7e]{1,512}$/;
const LEGACY_KEYS_HINT =
  'give `tenant=key` pairs separated by commas: a tenant of 1 to 64 letters, digits, dots, dashes and underscores, and a key of visible ASCII';

function parseLegacyKeys(text: string): LegacyKey[] {
  const keys: LegacyKey[] = [];
  for (const [index, entry] of text.split(',').entries()) {
    if (entry.trim() === '') continue;
    const separator = entry.indexOf('=');
    const parsed = { tenant: entry.slice(0, separator).trim(), key: entry.slice(separator + 1).trim() };
    const problem = separator < 0 ? 'has no `=`' : legacyKeyProblem(parsed, keys);
    if (problem !== null) {
      throw new StartError(`SERVICE_LEGACY_KEYS: entry ${index + 1} ${problem}`, { hint: LEGACY_KEYS_HINT });
    }
    keys.push(parsed);
  }
  return keys;
}

function legacyKeyProblem({ tenant, key }: LegacyKey, earlier: readonly LegacyKey[]): string | null {
  if (!isTenantName(tenant)) return 'has a tenant that is not allowed';
  if (!LEGACY_KEY_PATTERN.test(key)) return 'has a key that is not allowed';
  return earlier.some((other) => other.key === key) ? 'repeats the key of another entry' : null;
}

/** Reads origins in the form in which browsers send them, with only scheme, host and port. RFC 6454 § 6.2. */
function parseOrigins(text: string): string[] {
  const origins = text.split(',').map((entry) => entry.trim().toLowerCase());
  return origins.filter(Boolean).map((origin, index) => {
    if (URL.canParse(origin) && new URL(origin).origin === origin) return origin;
    throw new StartError(`SERVICE_ALLOWED_ORIGINS: entry ${index + 1} is not an origin`, {
      hint: 'give origins such as https://app.example.com separated by commas, without a path and without a usual port',
    });
  });
}

function badValue(name: SettingName, value: string, isByFlag = false): StartError {
  const { flag, allowed } = SETTINGS.find((setting) => setting.name === name) ?? {};
  const given = isByFlag ? `--${flag}` : name;
  const shown = SECRET_SETTINGS.has(name) ? '' : ` "${printable(value, shownCharactersMax)}"`;
  return new StartError(`${given} does not take${shown === '' ? ' this value' : shown}: it takes ${allowed}`);
}
