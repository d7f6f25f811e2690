import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LIMIT_CEILINGS } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { StartError } from '../ground/start-error.ts';
import { loadConfig } from './config.ts';
import { SETTINGS } from './settings.ts';

function refusal(environment: Record<string, string>, flags: Record<string, string> = {}): StartError {
  try {
    loadConfig(environment, flags);
  } catch (error) {
    if (error instanceof StartError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}

describe('the configuration of a service', () => {
  test('has the documented budgets if nothing is set', { tags: ['Limits-27', 'Limits-28'] }, () => {
    const config = loadConfig({ SERVICE_CONCURRENCY: '2' });
    expect(config).toMatchObject({
      host: '127.0.0.1',
      provider: 'auto',
      rate: { perSecond: 200, burst: 600 },
      queue: { total: 256, perTenant: 64 },
      waits: { total: 80, perTenant: 24 },
      streams: { total: 80, perTenant: 16 },
      bodyReads: { total: 24, perTenant: 8 },
      responses: { total: 40, perTenant: 12 },
      freeSpaceReserveMb: null,
      metricsToken: null,
      legacyKeys: [],
    });
    expect(config.ceilings.wall_seconds).toBe(LIMIT_CEILINGS.wall_seconds);
  });

  test('budgets grow with the jobs that run at once', { tags: ['Limits-27', 'Limits-28'] }, () => {
    expect(loadConfig({ SERVICE_CONCURRENCY: '64' })).toMatchObject({
      rate: { perSecond: 6400, burst: 19_200 },
      queue: { total: 8192, perTenant: 2048 },
      waits: { total: 768, perTenant: 256 },
      streams: { total: 768, perTenant: 256 },
    });
    const given = { SERVICE_CONCURRENCY: '64', SERVICE_RATE_PER_SECOND: '0.5', SERVICE_TENANT_QUEUE_MAX: '3' };
    expect(loadConfig(given)).toMatchObject({
      rate: { perSecond: 0.5, burst: 2 },
      queue: { total: 8192, perTenant: 3 },
    });
  });

  test('a flag wins over the environment', () => {
    expect(loadConfig({ SERVICE_PORT: '1' }, { port: '2' }).port).toBe(2);
  });

  test("a secret that the environment lacks is read from the supervisor's file with the same name", () => {
    const directory = mkdtempSync(join(tmpdir(), 'svc-credentials-'));
    writeFileSync(join(directory, 'SERVICE_LEGACY_KEYS'), 'me=from-a-file\n');
    writeFileSync(join(directory, 'SERVICE_METRICS_TOKEN'), 'token-of-a-file');
    writeFileSync(join(directory, 'SERVICE_PORT'), '1');
    const environment = { CREDENTIALS_DIRECTORY: directory, SERVICE_METRICS_TOKEN: 'of-the-environment' };
    const config = loadConfig(environment);
    expect(config.legacyKeys).toEqual(loadConfig({ SERVICE_LEGACY_KEYS: 'me=from-a-file' }).legacyKeys);
    expect([config.metricsToken, config.port]).toEqual(['of-the-environment', 8080]);
    mkdirSync(join(directory, 'SERVICE_OTLP_ENDPOINT'));
    expect(refusal(environment).message).toBe(
      `the credential ${join(directory, 'SERVICE_OTLP_ENDPOINT')} cannot be read: EISDIR`,
    );
    rmSync(directory, { recursive: true });
    expect(loadConfig(environment).legacyKeys).toEqual([]);
  });

  test('an empty value counts as not given', () => {
    expect(loadConfig({ SERVICE_PORT: '', SERVICE_METRICS_TOKEN: '' }, { port: '' })).toMatchObject({
      port: 8080,
      metricsToken: null,
    });
  });

  test('normalizes origins to the spelling that browsers use', () => {
    const text = 'https://App.example.com, http://localhost:3000,';
    expect(loadConfig({ SERVICE_ALLOWED_ORIGINS: text }).allowedOrigins).toEqual([
      'https://app.example.com',
      'http://localhost:3000',
    ]);
    expect(loadConfig({}).allowedOrigins).toEqual([]);
  });

  test.each(['*', 'null', 'app.example.com', 'https://app.example.com/', 'https://app.example.com:443', 'ftp:x'])(
    'the origin %s is malformed, and stops the start',
    (origin) => {
      const { message, hint } = refusal({ SERVICE_ALLOWED_ORIGINS: `https://a.example,${origin}` });
      expect(message).toBe('SERVICE_ALLOWED_ORIGINS: entry 2 is not an origin');
      expect(hint).toContain('https://app.example.com');
    },
  );

  test('gives a service all roles, or each listed role once', () => {
    expect(loadConfig({}).roles).toEqual(['api', 'executor', 'signer']);
    expect(loadConfig({ SERVICE_ROLES: 'signer, api,api,' }).roles).toEqual(['api', 'signer']);
  });

  test.each([
    ['api,worker', 'SERVICE_ROLES: worker is not a role'],
    ['API', 'SERVICE_ROLES: API is not a role'],
    [',', 'SERVICE_ROLES names no role'],
    [' ', 'SERVICE_ROLES names no role'],
  ])('the roles %j are refused: %s', (roles, problem) => {
    const { message, hint } = refusal({}, { roles });
    expect(message).toBe(problem);
    expect(hint).toContain('api, executor, signer');
  });

  test('variables without the prefix are ignored', () => {
    expect(() => loadConfig({ PATH: '/bin', SERVICES: 'x' })).not.toThrow();
  });

  test('an unknown name stops the start and is named', () => {
    expect(refusal({ SERVICE_PROT: '80' }).message).toBe('SERVICE_PROT is not a setting');
    expect(refusal({}, { prot: '80' }).message).toBe('--prot is not a setting');
    expect(refusal({ SERVICE___proto__: '80' }).message).toBe('SERVICE___proto__ is not a setting');
  });

  test('a refused value is named as it was given, by its flag or by its setting', () => {
    expect(refusal({}, { port: 'abc' }).message).toMatch(/^--port does not take "abc": /);
    expect(refusal({ SERVICE_PORT: 'abc' }).message).toMatch(/^SERVICE_PORT does not take "abc": /);
  });

  test.each(['0', '65535'])('port %s is in bounds', (port) => {
    expect(loadConfig({ SERVICE_PORT: port }).port).toBe(Number(port));
  });

  test.each(['65536', '-1', '1.5', '0x10', ' 80', '1e3', 'http'])(
    'port %j is refused, and the message names the setting and its bounds',
    (port) => {
      const { message } = refusal({ SERVICE_PORT: port });
      expect(message).toContain('SERVICE_PORT');
      expect(message).toContain('a whole number from 0 to 65535');
      expect(message).not.toContain('\n');
    },
  );

  test('a value that is not in a fixed set is refused, and the message lists the set', () => {
    expect(refusal({ SERVICE_PROVIDER: 'docker' }).message).toBe(
      'SERVICE_PROVIDER does not take "docker": it takes one of auto, gvisor, namespace, subprocess',
    );
  });

  test('a refused secret is never shown', () => {
    const { message, hint } = refusal({ SERVICE_DATABASE_URL: 'mysql://user:hunter2@host' });
    expect(`${message} ${hint}`).not.toContain('hunter2');
    expect(message).toContain('SERVICE_DATABASE_URL');
  });

  test('legacy keys are pairs of tenant and key, and a key may hold an equals sign', () => {
    expect(loadConfig({ SERVICE_LEGACY_KEYS: 'acme=k1=, umbrella=k2,' }).legacyKeys).toEqual([
      { tenant: 'acme', key: 'k1=' },
      { tenant: 'umbrella', key: 'k2' },
    ]);
  });

  test.each([
    'acme',
    '=k',
    'acme=',
    'a/b=k',
    '__proto__=k',
    'constructor=k',
    `${'a'.repeat(65)}=k`,
    'a=k,b=k',
    'a=k é',
  ])('legacy keys %j are refused without showing a key', (text) => {
    const { message } = refusal({ SERVICE_LEGACY_KEYS: text });
    expect(message).toMatch(/^SERVICE_LEGACY_KEYS: entry \d /);
  });

  test('access tokens are accepted if issuer, audience and keys are all set', () => {
    const jwt = { SERVICE_JWT_ISSUER: 'https://i', SERVICE_JWT_AUDIENCE: 'svc', SERVICE_JWT_JWKS: '/etc/keys.json' };
    expect(loadConfig({}).jwt).toBeNull();
    expect(loadConfig(jwt).jwt).toEqual({
      issuer: 'https://i',
      audience: 'svc',
      jwks: '/etc/keys.json',
      tenantClaim: 'tenant_id',
    });
    expect(loadConfig({ ...jwt, SERVICE_JWT_JWKS: 'https://i/keys' }).jwt?.jwks).toBe('https://i/keys');
    expect(loadConfig({ ...jwt, SERVICE_JWT_TENANT_CLAIM: 'org' }).jwt?.tenantClaim).toBe('org');
    for (const name of Object.keys(jwt)) {
      expect(refusal({ ...jwt, [name]: '' }).message).toContain(`${name} is not set`);
    }
    for (const plain of ['http://i/keys', 'HTTPS://i', 'https:/i']) {
      expect(refusal({ ...jwt, SERVICE_JWT_JWKS: plain }).message).toContain('a path or an https address');
    }
  });

  test("a metrics token that equals a tenant's key is refused", () => {
    expect(refusal({ SERVICE_METRICS_TOKEN: 'k', SERVICE_LEGACY_KEYS: 'acme=k' }).message).toContain('repeats a key');
    const { message } = refusal({ SERVICE_METRICS_TOKEN: 'hunter2 é' });
    expect(message).toContain('SERVICE_METRICS_TOKEN');
    expect(message).not.toContain('hunter2');
  });

  test('the path for traces is appended to the address of the collector', () => {
    expect(loadConfig({}).tracesUrl).toBeNull();
    const urlOf = (endpoint: string) => loadConfig({ SERVICE_OTLP_ENDPOINT: endpoint }).tracesUrl;
    expect(urlOf('http://localhost:4318/')).toBe('http://localhost:4318/v1/traces');
    expect(urlOf('https://collector/base')).toBe('https://collector/base/v1/traces');
    expect(refusal({ SERVICE_OTLP_ENDPOINT: 'localhost:4318' }).message).toContain('SERVICE_OTLP_ENDPOINT');
  });

  test('no job may request more memory than all jobs together may have', () => {
    expect(loadConfig({ SERVICE_CONCURRENT_MEM_MB_MAX: '512' }).ceilings.mem_mb).toBe(512);
    expect(refusal({ SERVICE_CONCURRENT_MEM_MB_MAX: '512', SERVICE_CEILING_MEM_MB: '513' }).message).toContain(
      'SERVICE_CEILING_MEM_MB',
    );
  });

  test('every setting has a description, a flag and a sentence about its values', () => {
    for (const setting of SETTINGS) {
      expect(setting.description).not.toBe('');
      expect(setting.allowed).not.toContain('undefined');
    }
    expect(new Set(SETTINGS.map((setting) => setting.flag)).size).toBe(SETTINGS.length);
  });
});
