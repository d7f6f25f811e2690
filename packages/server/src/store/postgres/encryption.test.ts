/** Connections to a real server. An authority that the test made has issued the server's certificate. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../../../../test/rig/postgres-server.ts';
import type { StoreError } from '../store-error.ts';
import { POSTGRES_SAME_THREAD } from '../threads.fixture.ts';
import { Session } from './connection.ts';
import { openPostgresStore } from './open.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-tls-'));
const file = (name: string) => join(directory, name);
let server: PostgresServer;

function openssl(...words: string[]): void {
  execFileSync('openssl', words, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];

function makeAuthority(name: string): void {
  openssl('req', '-x509', ...KEY, '-keyout', `${name}.key`, '-out', `${name}.pem`, '-subj', `/CN=${name}`);
}

/** A certificate for the name `localhost`, but for no address. */
function makeServerCertificate(): void {
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost');
  makeCertificate('server', { subject: 'localhost', authority: 'authority', more: ['-extfile', 'names'] });
}

interface Certified {
  readonly subject: string;
  readonly authority: string;
  readonly more?: readonly string[];
}

/** Makes NAME.key and NAME.pem. */
function makeCertificate(name: string, { subject, authority: by, more = [] }: Certified): void {
  openssl('req', ...KEY.slice(0, 5), '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${subject}`);
  const signed = ['-CA', `${by}.pem`, '-CAkey', `${by}.key`, '-CAcreateserial', '-days', '2', ...more];
  openssl('x509', '-req', '-in', `${name}.csr`, ...signed, '-out', `${name}.pem`);
}

/** The server lets one role in only with a certificate for the role's name, together with the role's password. */
function makeRules(): void {
  writeFileSync(
    file('pg_hba.conf'),
    'hostssl all certified all password clientcert=verify-full\nhost all certified all reject\nhost all all all password\n',
  );
}

/** The server uses its key only if nobody else can read it. */
function giveToServer(): void {
  chmodSync(directory, 0o755);
  if (process.getuid?.() !== 0) return;
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
  for (const name of ['server.key', 'server.pem', 'pg_hba.conf']) chownSync(file(name), uid ?? 0, gid ?? 0);
}

beforeAll(async () => {
  makeAuthority('authority');
  makeAuthority('stranger');
  makeServerCertificate();
  makeCertificate('certified', { subject: 'certified', authority: 'authority' });
  makeCertificate('namesake', { subject: 'certified', authority: 'stranger' });
  makeCertificate('another', { subject: 'another', authority: 'authority' });
  makeRules();
  giveToServer();
  server = await startPostgres({
    ssl: 'on',
    ssl_cert_file: file('server.pem'),
    ssl_key_file: file('server.key'),
    ssl_ca_file: file('authority.pem'),
    hba_file: file('pg_hba.conf'),
  });
  expect(statSync(file('server.key')).mode & 0o077).toBe(0);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** The URL of the server with these parameters and this host name. */
function urlWith(parameters: string, { host = 'localhost', on = server.url } = {}): string {
  return `${on.replace('127.0.0.1', host)}?${parameters}`;
}

/** Whether a session opened with this URL is encrypted, or why there is no session. */
async function outcome(url: string): Promise<string> {
  try {
    await using session = await Session.open(url, {});
    const sql = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
    const { rows } = await session.execute<{ ssl: boolean }>({ sql, parameters: [] });
    return rows[0]?.ssl === true ? 'encrypted' : 'plain';
  } catch (error) {
    const { code, message } = error as StoreError;
    const isClear = !message.includes('\n') && !message.includes(new URL(url).password);
    return isClear ? `${code}: ${message}` : 'a refusal of several lines, or with the password';
  }
}

const authority = `sslrootcert=${file('authority.pem')}`;
const stranger = `sslrootcert=${file('stranger.pem')}`;

test('every connection of a store is encrypted with verify-full', async () => {
  await using store = await openPostgresStore({
    url: urlWith(`sslmode=verify-full&${authority}`),
    check: 'off',
    onProblem: () => {},
    instance: 'here',
    threads: POSTGRES_SAME_THREAD,
  });
  await Promise.all(Array.from({ length: 40 }, () => store.counts()));
  await store.probe();
  await using session = await Session.open(urlWith('sslmode=disable'), {});
  const sql = `select ssl, count(*)::int as sessions from pg_stat_ssl join pg_stat_activity using (pid)
    where application_name = 'vouchbox' and pid <> pg_backend_pid() group by ssl`;
  const { rows } = await session.execute<{ ssl: boolean; sessions: number }>({ sql, parameters: [] });
  expect(rows).toEqual([{ ssl: true, sessions: expect.toSatisfy((count: number) => count >= 3) as number }]);
});

describe('a server with a certificate from a trusted authority', () => {
  test.each([
    ['', 'plain'],
    ['sslmode=disable', 'plain'],
    ['sslmode=require', 'encrypted'],
    [`sslmode=require&${authority}`, 'encrypted'],
    [`sslmode=verify-ca&${authority}`, 'encrypted'],
    [`sslmode=verify-full&${authority}`, 'encrypted'],
  ])('is reached with %s', async (parameters, expected) => {
    expect(await outcome(urlWith(parameters))).toBe(expected);
  });

  test('is refused if its name is not in the certificate, but only with verify-full', async () => {
    const host = '127.0.0.1';
    expect(await outcome(urlWith(`sslmode=verify-ca&${authority}`, { host }))).toBe('encrypted');
    expect(await outcome(urlWith(`sslmode=verify-full&${authority}`, { host }))).toMatch(
      /^unopenable: .*does not match certificate/,
    );
  });
});

describe('a server with a certificate from another authority', () => {
  test.each([`sslmode=require&${stranger}`, `sslmode=verify-ca&${stranger}`, `sslmode=verify-full&${stranger}`])(
    'is refused with %s',
    async (parameters) => {
      expect(await outcome(urlWith(parameters))).toMatch(/^unopenable: .*certificate/);
    },
  );

  test('is refused with verify-full if no file is named, because Node does not trust that authority', async () => {
    expect(await outcome(urlWith('sslmode=verify-full'))).toMatch(/^unopenable: .*certificate/);
    expect(await outcome(urlWith('sslmode=verify-full&sslrootcert=system'))).toMatch(/^unopenable: .*certificate/);
  });
});

test('a server without encryption is refused if the URL demands encryption', async () => {
  const on = inject('postgresUrl');
  for (const mode of ['require', `verify-ca&${authority}`, `verify-full&${authority}`]) {
    expect(await outcome(urlWith(`sslmode=${mode}`, { on }))).toMatch(/^unopenable: .*does not support SSL/);
  }
});

describe('a database role that requires a client certificate', () => {
  const encrypted = `sslmode=verify-full&${authority}`;
  const pair = (name: string, key = name) => `sslcert=${file(`${name}.pem`)}&sslkey=${file(`${key}.key`)}`;

  const OPEN = /^unopenable: the file of the database URL’s sslkey can be used by others/;

  /** A URL for that role. */
  function certifiedWith(parameters: string): string {
    const url = new URL(urlWith(`${encrypted}&${parameters}`));
    url.username = 'certified';
    return url.href;
  }

  beforeAll(async () => {
    await using session = await Session.open(urlWith('sslmode=disable'), {});
    const sql = `create role certified login password '${new URL(server.url).password}'`;
    await session.execute({ sql, parameters: [] });
  });

  test('is accepted with a certificate for its name', async () => {
    await using session = await Session.open(certifiedWith(pair('certified')), {});
    const sql =
      'select usename, client_dn from pg_stat_ssl join pg_stat_activity using (pid) where pid = pg_backend_pid()';
    const { rows } = await session.execute({ sql, parameters: [] });
    expect(rows).toEqual([{ usename: 'certified', client_dn: '/CN=certified' }]);
  });

  test('is refused without a certificate, and with a certificate for another name', async () => {
    expect(await outcome(certifiedWith(''))).toMatch(/^unopenable: .*requires a valid client certificate/);
    expect(await outcome(certifiedWith(pair('another')))).toMatch(/^unopenable: .*authentication failed/);
  });

  test('is refused with a certificate for its name from another authority', async () => {
    // The server ends the connection before or after saying why.
    expect(await outcome(certifiedWith(pair('namesake')))).toMatch(/^(unopenable|unreachable): /);
  });

  test('is accepted with the same URL once its certificate files are replaced', async () => {
    const url = certifiedWith(pair('renewed'));
    const put = (from: string) => {
      for (const kind of ['pem', 'key']) copyFileSync(file(`${from}.${kind}`), file(`renewed.${kind}`));
    };
    put('another');
    expect(await outcome(url)).toMatch(/authentication failed/);
    put('certified');
    expect(await outcome(url)).toBe('encrypted');
  });

  test('is refused before a connection is tried if the files are not a certificate with its key', async () => {
    expect(await outcome(certifiedWith(pair('certified', 'another')))).toMatch(
      /^unopenable: .*sslcert and sslkey are not a certificate and its unencrypted key \(ERR_OSSL_X509_KEY_VALUES_MISMATCH\)$/,
    );
    expect(await outcome(certifiedWith(`sslcert=${file('certified.pem')}`))).toMatch(/needs both sslcert and sslkey/);
    expect(await outcome(certifiedWith(`sslkey=${file('certified.key')}`))).toMatch(/needs both sslcert and sslkey/);
    expect(await outcome(certifiedWith(`sslcert=${file('certified.pem')}&sslkey=/nowhere/a.key`))).toMatch(
      /^unopenable: the file of the database URL’s sslkey cannot be read \(ENOENT\)$/,
    );
    expect(await outcome(certifiedWith(`sslcert=${file('certified.pem')}&sslkey=/dev/null`))).toMatch(
      /^unopenable: the database URL’s sslkey is not a regular file$/,
    );
  });

  describe.runIf(process.getuid?.() === 0)('requires a key file that others cannot use, as libpq does:', () => {
    const NOBODY = 65_534;
    test.each([
      { mode: 0o600, uid: 0, expected: /^encrypted$/, name: 'root alone reads it' },
      { mode: 0o640, uid: 0, expected: /^encrypted$/, name: 'root and its group read it' },
      { mode: 0o644, uid: 0, expected: OPEN, name: 'a key of root that all can read is refused' },
      { mode: 0o660, uid: 0, expected: OPEN, name: 'a key of root that a group can change is refused' },
      { mode: 0o600, uid: NOBODY, expected: /^encrypted$/, name: 'its owner alone reads it' },
      { mode: 0o640, uid: NOBODY, expected: OPEN, name: 'a key that the group of its owner can read is refused' },
    ])('$name', async ({ mode, uid, expected }) => {
      chmodSync(file('certified.key'), mode);
      chownSync(file('certified.key'), uid, uid);
      expect(await outcome(certifiedWith(pair('certified')))).toMatch(expected);
    });
  });
});

describe('a database URL is refused in one line', () => {
  test.each([
    ['sslmode=prefer', /falls back to no encryption: use verify-full/],
    ['sslmode=allow', /falls back to no encryption/],
    ['sslmode=no-verify', /unknown sslmode: it can be disable, require, verify-ca, verify-full$/],
    ['sslmode=verify-ca', /needs sslrootcert=FILE/],
    ['ssl=true', /must say sslmode/],
    [`sslmode=verify-full&uselibpqcompat=true`, /none that only the driver knows/],
    [authority, /must say sslmode/],
    [
      `sslmode=verify-full&${authority}&sslcrl=/etc/revoked.pem`,
      /has sslcrl, which cannot be applied here: leave it out$/,
    ],
    ['channel_binding=require', /has channel_binding, which cannot be applied here/],
    ['sslmode=verify-full&sslrootcert=/nowhere/ca.pem', /sslrootcert cannot be read \(ENOENT\)$/],
  ])('a URL with %s is refused', async (parameters, line) => {
    expect(await outcome(urlWith(parameters))).toMatch(line);
  });
});
