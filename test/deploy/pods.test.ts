/** The chart's pods, started here with the chart's command lines and the rights in each manifest. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { dropSchema, newSchema } from '../../packages/server/src/store/postgres/schema.fixture.ts';
import { jobProblems } from './capability-trial.ts';
import { Pod } from './chart/pod.ts';
import { type Manifest, Renderer, untried } from './chart/rendered-chart.ts';

const VALUES = { database: { existingSecret: 'db' }, attestation: { existingSecret: 'key' } };
const API_KEY = 'key-of-alpha';

async function statusOf({ url }: Pod, path: string): Promise<number> {
  return (await fetch(url + path, { headers: { authorization: `Bearer ${API_KEY}` } })).status;
}

describe.skipIf(untried !== '')(`the chart’s pods${untried}`, () => {
  const signingKey = execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519'], { encoding: 'utf8' });
  const publicKey = execFileSync('openssl', ['pkey', '-pubout'], { input: signingKey, encoding: 'utf8' });
  let manifests: readonly Manifest[];
  let databaseUrl: string;
  beforeAll(async () => {
    using renderer = new Renderer();
    manifests = renderer.render(VALUES);
    databaseUrl = await newSchema(inject('postgresUrl'));
  });
  afterAll(() => dropSchema(databaseUrl));

  function start(component: string): Promise<Pod> {
    const deployment = manifests.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === `box-${component}`,
    ) as Manifest;
    const settings = { SERVICE_DATABASE_URL: databaseUrl, SERVICE_LEGACY_KEYS: `alpha=${API_KEY}` };
    return Pod.start(deployment, { settings, signingKey });
  }

  test('share one service: the api accepts jobs, the executor runs them isolated, and the signer signs', async () => {
    await using api = await start('api');
    const client = createServiceClient({ baseUrl: api.url, apiKey: API_KEY });
    // The API pod is ready for callers before there is an executor.
    expect(await api.probes()).toEqual({ startupProbe: 200, livenessProbe: 200, readinessProbe: 200 });
    expect((await client.capabilities()).languages).toEqual([]);
    await using signer = await start('signer');
    await using executor = await start('executor');
    for (const pod of [executor, signer])
      await expect.poll(() => pod.probes()).toEqual({ startupProbe: 200, livenessProbe: 200, readinessProbe: 200 });
    await expect.poll(async () => (await client.capabilities()).languages).toContain('python');
    expect(await jobProblems(client)).toEqual([]);
    expect((await client.publicKey()).public_key_pem.trim()).toBe(publicKey.trim());
    for await (const { job_id } of client.listAll())
      await expect.poll(() => statusOf(api, `/v1/jobs/${job_id}/attestation`)).toBe(200);
    expect(readFileSync(join(signer.dataDirectory, 'attestation-keys/signing-key.pem'), 'utf8')).toBe(signingKey);
    for (const pod of [api, executor]) expect(existsSync(join(pod.dataDirectory, 'attestation-keys'))).toBe(false);
    for (const pod of [api, executor, signer]) expect(await pod.stop()).toEqual([]);
  });
});
