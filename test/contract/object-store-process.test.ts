/** A service with an object store: its process is killed while it moves content, and later a command reads the service's data. */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Command, vouchbox } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { openObjectProxy } from '../rig/object-proxy.ts';
import { hasObjectServer, type ObjectServer, startObjectServer } from '../rig/object-server.ts';

/** The timeout for polls. They may take long if the host does other work. */
const soon = { timeout: 60_000 };
/** A job whose artifact and result are large, even when they are compressed. */
const large = {
  language: 'python' as const,
  code: `
import base64, random
content = random.Random(1).randbytes(300 * 1024)
open('output/large', 'wb').write(content)
for at in range(0, len(content), 3000):
    print(base64.b64encode(content[at:at + 3000]).decode())
`,
  outputs: ['output/large'],
};

describe.skipIf(!hasObjectServer())('a service with an object store', () => {
  let scratch: string;
  let dataDir: string;
  let server: ObjectServer;
  /** The settings of the object store. */
  let settings: Record<string, string>;
  let job_id: string;
  let sha256: string | undefined;
  beforeAll(async () => {
    scratch = mkdtempSync(join(tmpdir(), 'svc-objects-of-'));
    dataDir = join(scratch, 'data');
    server = await startObjectServer();
    const { url, accessKey, secretKey } = await server.newBucket();
    settings = {
      SERVICE_OBJECT_STORE_URL: url,
      SERVICE_OBJECT_STORE_ACCESS_KEY: accessKey,
      SERVICE_OBJECT_STORE_SECRET_KEY: secretKey,
      SERVICE_OBJECT_STORE_MIN_KB: '64',
    };
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true });
  });

  async function serving(env: Record<string, string>) {
    const command = new Command(['serve'], {
      env: {
        SERVICE_PORT: '0',
        SERVICE_DATA_DIR: dataDir,
        SERVICE_PROVIDER: 'namespace',
        SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha',
        SERVICE_LOG_LEVEL: 'silent',
        ...env,
      },
    });
    const [, url = ''] = await command.shows(/^listening on (http:\/\/\S+)\r?\n/m);
    const asked = (path: string) => fetch(url + path, { headers: { authorization: 'Bearer key-of-alpha' } });
    return { command, asked, client: createServiceClient({ baseUrl: url, apiKey: 'key-of-alpha' }) };
  }

  test('a service that is killed between storing an object and changing the row loses no content and no object', async () => {
    const reading = Promise.withResolvers<void>();
    // The service reads an object back before it changes anything.
    await using proxy = await openObjectProxy(settings['SERVICE_OBJECT_STORE_URL'] ?? '', (method) => {
      if (method !== 'GET') return 'pass';
      reading.resolve();
      return 'hold';
    });
    const held = proxy.urlOf(settings['SERVICE_OBJECT_STORE_URL'] ?? '');
    const first = await serving({ ...settings, SERVICE_OBJECT_STORE_URL: held });
    await using _first = first.command;
    ({ job_id } = await first.client.submit(large));
    ({ sha256 } = (await first.client.waitForResult(job_id)).artifacts[0] ?? {});
    const before = await (await first.asked(`/v1/jobs/${job_id}/result`)).text();
    await reading.promise;
    first.command.kill('SIGKILL');
    await first.command.ended();
    expect(server.files()).toHaveLength(1);

    const second = await serving(settings);
    await using _second = second.command;
    const attested = async () => (await second.asked(`/v1/jobs/${job_id}/result-artifact`)).status;
    await expect.poll(attested, soon).toBe(200);
    await expect
      .poll(async () => (await second.client.status()).object_store, soon)
      .toEqual({ reachable: true, to_move: 0, to_remove: 0, missing: 0, damaged: 0 });
    expect(server.files()).toHaveLength(2);
    expect((await (await second.asked(`/v1/jobs/${job_id}/result`)).text()) === before).toBe(true);
    expect(await attested()).toBe(200);
    second.command.kill('SIGTERM');
    expect((await second.command.ended()).code).toBe(0);
    expect(leftoversOf(dataDir)).toEqual([]);
  });

  test("vouchbox export from a stopped service needs the object store's settings, and names the missing ones", async () => {
    const exported = (env: Record<string, string>) =>
      vouchbox(['export', job_id, '--data-dir', dataDir, '--tenant', 'alpha'], { cwd: scratch, env });
    const without = await exported({});
    expect(without).toMatchObject({ code: 3, stdout: '' });
    expect(without.stderr).toBe(
      `vouchbox: contents of ${job_id} lie in an object store, and none is set; ` +
        'set SERVICE_OBJECT_STORE_URL, SERVICE_OBJECT_STORE_ACCESS_KEY and SERVICE_OBJECT_STORE_SECRET_KEY as for the service\n',
    );
    const elsewhere = `${settings['SERVICE_OBJECT_STORE_URL']}-elsewhere`;
    const refused = await exported({ ...settings, SERVICE_OBJECT_STORE_URL: elsewhere });
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(`contents of ${job_id} cannot be read from ${elsewhere}: `);
    expect(refused.stderr).not.toContain(settings['SERVICE_OBJECT_STORE_SECRET_KEY']);
    expect(existsSync(join(scratch, job_id))).toBe(false);
    expect(await exported(settings)).toMatchObject({ code: 0, stdout: `${job_id}\n` });
    const artifact = readFileSync(join(scratch, job_id, 'output/large'));
    expect(createHash('sha256').update(artifact).digest('hex')).toBe(sha256);
  });
});
