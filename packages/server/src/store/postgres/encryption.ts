/**
 * The parameters of a database URL that concern encryption. Each has libpq's meaning or is refused, so a connection is never less
 * protected than its URL says. https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION
 */
import type { ConnectionOptions } from 'node:tls';
import { StoreError } from '../store-error.ts';
import { clientCertificateOf, contentOf } from './client-certificate.ts';

export interface Encryption {
  /** The URL without the parameters that were read from it. */
  readonly url: string;
  /** The options of TLS; false turns TLS off. Undefined if the URL names none of the parameters. */
  readonly ssl: ConnectionOptions | false | undefined;
}

/** The parameters that are read here: the driver would give some of them another meaning. */
const PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl', 'uselibpqcompat'] as const;
/** Parameters that protect a connection in libpq but would be ignored by the driver. */
const NOT_APPLIED = [
  'sslcrl',
  'sslcrldir',
  'sslpassword',
  'sslcertmode',
  'ssl_min_protocol_version',
  'ssl_max_protocol_version',
  'channel_binding',
  'gssencmode',
  'require_auth',
  'requirepeer',
] as const;
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof MODES)[number];

/** The value of `sslrootcert` that stands for the authorities that Node trusts. They also apply if no file is named. */
const SYSTEM = 'system';

/** @throws StoreError `unopenable`, in one line that quotes neither the URL nor a file */
export function encryptionOf(url: string): Encryption {
  if (!URL.canParse(url)) return { url, ssl: undefined };
  const parsed = new URL(url);
  const { searchParams: given } = parsed;
  const ignored = NOT_APPLIED.find((name) => given.has(name));
  if (ignored !== undefined) throw refusal(`has ${ignored}, which cannot be applied here: leave it out`);
  if (!PARAMETERS.some((name) => given.has(name))) return { url, ssl: undefined };
  const mode = modeOf(given);
  const rootFile = given.get('sslrootcert');
  const ssl = mode === 'disable' ? false : { ...verifying(mode, rootFile), ...clientCertificateOf(given) };
  for (const name of PARAMETERS) given.delete(name);
  return { url: parsed.href, ssl };
}

function modeOf(given: URLSearchParams): Mode {
  const mode = given.get('sslmode');
  if (given.has('ssl') || given.has('uselibpqcompat') || mode === null)
    throw refusal(
      `must say sslmode=${MODES.join(', ')} beside its other parameters for encryption, and none that only the driver knows`,
    );
  if (mode === 'prefer' || mode === 'allow')
    throw refusal(`has sslmode=${mode}, which falls back to no encryption: use verify-full, or disable`);
  const known = MODES.find((one) => one === mode);
  if (known === undefined) throw refusal(`has an unknown sslmode: it can be ${MODES.join(', ')}`);
  return known;
}

/** How the server is checked. With a file of authorities, `require` means `verify-ca`, as in libpq. */
function verifying(mode: Mode, rootFile: string | null): ConnectionOptions {
  if (mode === 'require' && rootFile === null) return { rejectUnauthorized: false };
  if (mode === 'verify-ca' && (rootFile === null || rootFile === SYSTEM))
    throw refusal('needs sslrootcert=FILE for sslmode=verify-ca: a public authority gives anybody a certificate');
  const ca = rootFile === null || rootFile === SYSTEM ? {} : { ca: contentOf('sslrootcert', rootFile) };
  if (mode === 'verify-ca' || (mode === 'require' && rootFile !== SYSTEM))
    return { ...ca, checkServerIdentity: () => undefined };
  return ca;
}

function refusal(what: string): StoreError {
  return new StoreError('unopenable', `the database URL ${what}`);
}
