/** Large artifacts and results in a real S3-compatible store, which the set-up for tests installs. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeFile, hasObjectServer, type ObjectServer, startObjectServer } from '../rig/object-server.ts';
import { type Answer, Rig, type RigSettings } from '../rig/rig.ts';

const KIB = 1024;
/** The timeout for polls. They may take long if the host does other work. */
const soon = { timeout: 60_000 };

/** Writes an artifact that cannot be compressed, and the same amount of output. */
const large = (seed: number) => ({
  language: 'python' as const,
  code: `
import base64, random
content = random.Random(${seed}).randbytes(${300 * KIB})
open('output/large', 'wb').write(content)
for at in range(0, len(content), 3000):
    print(base64.b64encode(content[at:at + 3000]).decode())
`,
  outputs: ['output/large'],
});

describe.skipIf(!hasObjectServer())('an object store', () => {
  let server: ObjectServer;
  let settings: RigSettings;
  let rig: Rig;
  let dataDir: string;
  beforeAll(async () => {
    server = await startObjectServer();
    const place = await server.newBucket();
    settings = {
      'object-store-url': `${place.url}/jobs`,
      'object-store-access-key': place.accessKey,
      'object-store-secret-key': place.secretKey,
      'object-store-min-kb': '64',
      'attestation-mode': 'on',
      'store-check': 'off',
    };
    dataDir = mkdtempSync(join(tmpdir(), 'svc-rig-'));
    rig = await Rig.start(settings, dataDir);
  });
  afterAll(async () => {
    expect(await rig.stop()).toEqual([]);
    await server[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const status = async () => (await rig.alpha.client.status()).object_store;

  /** Waits until a job is signed and nothing large is left in the store. */
  async function moved(job_id: string): Promise<void> {
    await attested(job_id);
    await expect.poll(status, soon).toMatchObject({ to_move: 0 });
  }

  const attested = (job_id: string) => expect.poll(async () => (await resultArtifact(job_id)).status, soon).toBe(200);

  const resultArtifact = (job_id: string): Promise<Answer> => rig.request(`/v1/jobs/${job_id}/result-artifact`);
  const resultOf = (job_id: string): Promise<Answer> => rig.request(`/v1/jobs/${job_id}/result`);

  /** The bytes of a result's only artifact. */
  const artifactIn = ({ json }: Answer): Buffer => Buffer.from(json.artifacts[0].content_base64 as string, 'base64');

  const digestOf = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');
  const digestOfText = ({ text }: Answer) => digestOf(text);

  test('receives large contents, and every answer has the same bytes as before', async () => {
    await server.refuse();
    const { job_id, result } = await rig.run(large(1));
    await attested(job_id);
    expect((await status())?.to_move).toBe(2);
    expect(await status()).toMatchObject({ reachable: false });
    const [before, artifactBefore] = [digestOfText(await resultOf(job_id)), digestOfText(await resultArtifact(job_id))];
    await server.accept();
    await moved(job_id);
    expect(server.files()).toHaveLength(2);
    expect(await status()).toEqual({ reachable: true, to_move: 0, to_remove: 0, missing: 0, damaged: 0 });
    expect(digestOfText(await resultOf(job_id))).toBe(before);
    expect(digestOfText(await resultArtifact(job_id))).toBe(artifactBefore);
    expect(digestOf(artifactIn(await resultOf(job_id)))).toBe(result.artifacts[0]?.sha256);
  });

  test('that is down keeps no job from ending or being read, and receives the jobs’ contents once it is up again', async () => {
    await server.refuse();
    const { job_id, result } = await rig.run(large(2));
    expect(result.status).toBe('succeeded');
    await attested(job_id);
    expect(digestOf(artifactIn(await resultOf(job_id)))).toBe(result.artifacts[0]?.sha256);
    await server.accept();
    await moved(job_id);
    expect(digestOf(artifactIn(await resultOf(job_id)))).toBe(result.artifacts[0]?.sha256);
  });

  test('that refuses a read makes the service answer 503 store_unavailable, and a client may then retry', async () => {
    const { job_id } = await rig.run(large(3));
    await moved(job_id);
    await server.refuse();
    for (const answer of await Promise.all([resultOf(job_id), resultArtifact(job_id)])) {
      expect(answer.status).toBe(503);
      expect(answer.json.error).toMatchObject({ code: 'store_unavailable', retryable: true });
    }
    await server.accept();
    expect((await resultOf(job_id)).status).toBe(200);
  });

  test('with a changed artifact makes the service break off the answer, and count the damage', async () => {
    const { job_id } = await rig.run(large(4));
    await moved(job_id);
    const artifact = artifactIn(await resultOf(job_id));
    for (const file of server.files()) if (readFileSync(file).equals(artifact)) changeFile(file);
    await expect(resultOf(job_id)).rejects.toThrow('terminated');
    expect((await status())?.damaged).toBeGreaterThan(0);
  });

  test('with a missing artifact makes the service answer 500 instead of the result', async () => {
    const { job_id } = await rig.run(large(5));
    await moved(job_id);
    const artifact = artifactIn(await resultOf(job_id));
    for (const file of server.files()) if (readFileSync(file).equals(artifact)) rmSync(file);
    const { status: code, json } = await resultOf(job_id);
    expect([code, json.error.message]).toEqual([500, expect.stringContaining('missing')]);
    expect((await status())?.missing).toBeGreaterThan(0);
  });

  test('with a changed or missing signed result makes the service sign the same bytes again', async () => {
    const { job_id } = await rig.run(large(6));
    await moved(job_id);
    const before = digestOfText(await resultArtifact(job_id));
    for (const damage of [changeFile, rmSync]) {
      const artifact = artifactIn(await resultOf(job_id));
      for (const file of server.files()) if (!readFileSync(file).equals(artifact)) damage(file);
      expect((await resultArtifact(job_id)).json.error.code).toBe('attestation_unavailable');
      await attested(job_id);
      expect(digestOfText(await resultArtifact(job_id))).toBe(before);
      await moved(job_id);
    }
    expect(digestOfText(await resultArtifact(job_id))).toBe(before);
  });
});
