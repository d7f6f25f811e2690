/** Spec § Endpoints, § Other bodies: what the service tells anyone about itself, and what it tells only a caller. */
import { readFileSync } from 'node:fs';
import { LIMIT_CEILINGS, LIMIT_DEFAULTS, SCOPES } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ 'metrics-token': 'token-of-metrics' });

describe('without a key', () => {
  test('healthz says that it is alive', { tags: ['Endpoints-3'] }, async () => {
    const { status, json } = await rig().request('/healthz', { key: null });
    expect([status, json]).toEqual([200, { status: 'ok' }]);
  });

  test('readyz says that it would accept a job', { tags: ['Endpoints-4'] }, async () => {
    const { status, json } = await rig().request('/readyz', { key: null });
    expect([status, json]).toEqual([
      200,
      { status: 'ready', checks: { store: true, provider: true, free_space: true, accepting: true } },
    ]);
  });

  test('openapi.json equals the protocol package’s file', { tags: ['Endpoints-5'] }, async () => {
    const { status, json } = await rig().request('/openapi.json', { key: null });
    expect(status).toBe(200);
    const file = readFileSync(new URL(import.meta.resolve('@vouchbox/protocol/openapi.json')), 'utf8');
    expect(json).toEqual(JSON.parse(file));
    expect(json.openapi).toMatch(/^3\.1\./);
  });

  test('the public answers contain no secret and no path on the host', { tags: ['Endpoints-6'] }, async () => {
    for (const path of ['/healthz', '/readyz', '/openapi.json']) {
      const { text } = await rig().request(path, { key: null });
      for (const secret of ['key-of-alpha', 'key-of-beta', 'token-of-metrics', rig().dataDir, process.cwd()]) {
        expect(text).not.toContain(secret);
      }
    }
  });
});

describe('with a key', () => {
  test('capabilities state what the service can run, in which isolation class, and up to which limits', {
    tags: ['What-2a', 'Bodies-5', 'Bodies-6', 'Bodies-7', 'Bodies-8', 'Versioning-8'],
  }, async () => {
    const capabilities = await rig().alpha.client.capabilities();
    expect(Object.keys(capabilities).sort()).toEqual([
      'artifacts',
      'blobs',
      'concurrent_mem_mb_max',
      'enforced',
      'features',
      'isolation_class',
      'languages',
      'libraries',
      'limits',
      'per_tenant',
      'runtime_packs',
      'signer',
      'tools',
      'version',
    ]);
    expect(capabilities).toMatchObject({
      languages: ['python', 'node', 'bash', 'typescript'],
      isolation_class: 'linux-shared-kernel',
      limits: { defaults: LIMIT_DEFAULTS, ceilings: LIMIT_CEILINGS },
      artifacts: { max_files: 32, max_file_bytes: 2 * 1024 * 1024, max_total_bytes: 4 * 1024 * 1024 },
      blobs: { max_blob_bytes: 64 * 1024 * 1024, max_job_bytes: 64 * 1024 * 1024 },
    });
    expect(capabilities.features).toEqual([
      'idempotency_keys',
      'submission_wait',
      'submission_include',
      'gradings',
      'result_wait',
      'replay_wait',
      'replay',
      'replay_include',
      'streams',
      'stream_tickets',
      'stream_include',
      'artifacts',
      'blobs',
      'outputs_as_inputs',
      'builds',
      'sessions',
      'libraries',
      'event_chain',
      'tenant_metrics',
      'program_arguments',
      'program_variables',
      'output_patterns',
      'tools',
      'runtime_packs',
    ]);
    expect(capabilities.concurrent_mem_mb_max).toBeGreaterThanOrEqual(LIMIT_CEILINGS.mem_mb);
    for (const { name, version, languages, digest } of capabilities.runtime_packs) {
      expect([name, version, languages.length > 0, digest]).toEqual([
        expect.any(String) as unknown,
        expect.any(String) as unknown,
        true,
        expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
      ]);
    }
  });

  test('whoami names the caller but not the key', { tags: ['Bodies-9'] }, async () => {
    const { json, text } = await rig().request('/v1/whoami');
    expect(json).toEqual({
      tenant: 'alpha',
      principal: expect.any(String) as unknown,
      auth_method: 'legacy',
      credential_id: expect.any(String) as unknown,
      scopes: [...SCOPES],
      expires_at: null,
    });
    expect(text).not.toContain('key-of-alpha');
    expect((await rig().beta.client.whoami()).tenant).toBe('beta');
  });

  test('a client with an up-to-date copy of the capabilities gets 304', {
    tags: ['Bodies-8b', 'Headers-3'],
  }, async () => {
    const path = '/v1/capabilities';
    const etag = (await rig().request(path)).headers.get('etag') ?? '';
    const again = await rig().request(path, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    const head = await rig().request(path, { method: 'HEAD', headers: { 'if-none-match': etag } });
    expect([head.status, head.headers.get('content-length')]).toEqual([304, null]);
    expect(again.headers.get('ratelimit-remaining')).not.toBeNull();
    const other = await rig().request(path, { headers: { 'if-none-match': '"another"' } });
    expect([other.status, other.headers.get('etag')]).toEqual([200, etag]);
    expect((await rig().request(path, { key: 'wrong', headers: { 'if-none-match': etag } })).status).toBe(401);
  });
});
