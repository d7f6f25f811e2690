/**
 * The certificate with which the service proves its identity to a PostgreSQL server: `sslcert` and `sslkey` of the database URL.
 * https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-CLIENTCERT
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { StoreError } from '../store-error.ts';

/** A certificate and its key, both as PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * The permissions that others must not have on a key: all of them, as with libpq. But if root owns the key, the key's group may
 * read it.
 */
const OF_OTHERS = constants.S_IRWXG | constants.S_IRWXO;
const OF_OTHERS_THAN_ROOT = constants.S_IWGRP | constants.S_IXGRP | constants.S_IRWXO;

/** The certificate that a URL names, or null. @throws StoreError `unopenable`, in one line that quotes no path or file */
export function clientCertificateOf(given: URLSearchParams): ClientCertificate | null {
  const [certFile, keyFile] = [given.get('sslcert'), given.get('sslkey')];
  if (certFile === null && keyFile === null) return null;
  if (certFile === null || keyFile === null)
    throw new StoreError('unopenable', 'the database URL needs both sslcert and sslkey for a client certificate');
  const pair = { cert: contentOf('sslcert', certFile), key: contentOf('sslkey', keyFile, refuseOpenKey) };
  try {
    createSecureContext(pair);
  } catch (cause) {
    // The cause is left out: it may contain parts of the files.
    const { code = 'unreadable' } = cause as NodeJS.ErrnoException;
    throw new StoreError(
      'unopenable',
      `the files of the database URL’s sslcert and sslkey are not a certificate and its unencrypted key (${code})`,
    );
  }
  return pair;
}

/** The content of the file that a parameter names, if the open file passes `check`. @throws StoreError `unopenable` */
export function contentOf(parameter: string, path: string, check: (stats: Stats) => void = () => {}): string {
  let file: number | null = null;
  try {
    // The file is opened without waiting: a named pipe would otherwise hold up the start.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    check(fstatSync(file));
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof StoreError) throw cause;
    const { code = 'unreadable' } = cause as NodeJS.ErrnoException;
    throw new StoreError('unopenable', `the file of the database URL’s ${parameter} cannot be read (${code})`);
  } finally {
    if (file !== null) closeSync(file);
  }
}

function refuseOpenKey(stats: Stats): void {
  if (!stats.isFile()) throw new StoreError('unopenable', 'the database URL’s sslkey is not a regular file');
  if ((stats.mode & (stats.uid === 0 ? OF_OTHERS_THAN_ROOT : OF_OTHERS)) === 0) return;
  throw new StoreError(
    'unopenable',
    'the file of the database URL’s sslkey can be used by others: its mode must be 0600, or 0640 if it is of root',
  );
}
