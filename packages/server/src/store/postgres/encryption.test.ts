/** Connections to a real server with a certificate of an authority that the test made. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type PostgresServer, startPostgres } from '../../../../../test/rig/postgres-server.ts';
import type { StoreError } from '../store-error.ts';
import { POSTGRES_SAME_THREAD } from '../threads.fixture.ts';
import { openPostgresStore } from './postgres-store.ts';
import { Session } from './session.ts';

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

/** A certificate for `localhost` and for no address. */
function makeServerCertificate(): void {
  openssl('req', ...KEY.slice(0, 5), '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost');
  const by = ['-CA', 'authority.pem', '-CAkey', 'authority.key', '-CAcreateserial', '-days', '2'];
  openssl('x509', '-req', '-in', 'server.csr', ...by, '-extfile', 'names', '-out', 'server.pem');
}

/** The server reads its key only if nobody else can. */
function giveToServer(): void {
  chmodSync(directory, 0o755);
  if (process.getuid?.() !== 0) return;
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
  for (const name of ['server.key', 'server.pem']) chownSync(file(name), uid ?? 0, gid ?? 0);
}

beforeAll(async () => {
  makeAuthority('authority');
  makeAuthority('stranger');
  makeServerCertificate();
  giveToServer();
  server = await startPostgres({ ssl: 'on', ssl_cert_file: file('server.pem'), ssl_key_file: file('server.key') });
  expect(statSync(file('server.key')).mode & 0o077).toBe(0);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** The URL of the server with these parameters, at this name of its host. */
function urlWith(parameters: string, { host = 'localhost', on = server.url } = {}): string {
  return `${on.replace('127.0.0.1', host)}?${parameters}`;
}

/** Whether a session of this URL is encrypted, or why there is none. */
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

describe('a server of an authority that is trusted', () => {
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

  test('has another name than its certificate: only verify-full refuses it', async () => {
    const host = '127.0.0.1';
    expect(await outcome(urlWith(`sslmode=verify-ca&${authority}`, { host }))).toBe('encrypted');
    expect(await outcome(urlWith(`sslmode=verify-full&${authority}`, { host }))).toMatch(
      /^unopenable: .*does not match certificate/,
    );
  });
});

describe('a server of another authority', () => {
  test.each([`sslmode=require&${stranger}`, `sslmode=verify-ca&${stranger}`, `sslmode=verify-full&${stranger}`])(
    'is refused with %s',
    async (parameters) => {
      expect(await outcome(urlWith(parameters))).toMatch(/^unopenable: .*certificate/);
    },
  );

  test('is refused with verify-full and no file, by the authorities that Node trusts', async () => {
    expect(await outcome(urlWith('sslmode=verify-full'))).toMatch(/^unopenable: .*certificate/);
    expect(await outcome(urlWith('sslmode=verify-full&sslrootcert=system'))).toMatch(/^unopenable: .*certificate/);
  });
});

test('a server without encryption is refused where it is demanded', async () => {
  const on = inject('postgresUrl');
  for (const mode of ['require', `verify-ca&${authority}`, `verify-full&${authority}`]) {
    expect(await outcome(urlWith(`sslmode=${mode}`, { on }))).toMatch(/^unopenable: .*does not support SSL/);
  }
});

describe('a URL is refused in one clear line', () => {
  test.each([
    ['sslmode=prefer', /falls back to no encryption: use verify-full/],
    ['sslmode=allow', /falls back to no encryption/],
    ['sslmode=no-verify', /unknown sslmode: it can be disable, require, verify-ca, verify-full$/],
    ['sslmode=verify-ca', /needs sslrootcert=FILE/],
    ['ssl=true', /must say sslmode/],
    [`sslmode=verify-full&uselibpqcompat=true`, /none of the driver’s own/],
    [authority, /must say sslmode/],
    ['sslmode=verify-full&sslrootcert=/nowhere/ca.pem', /sslrootcert cannot be read \(ENOENT\)$/],
  ])('with %s', async (parameters, line) => {
    expect(await outcome(urlWith(parameters))).toMatch(line);
  });
});
