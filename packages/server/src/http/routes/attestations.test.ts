import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ExactBytes } from '../../job/view/attestation.ts';
import { bearer, JOB, openServer } from '../server.fixture.ts';
import { RawSocket } from '../socket.fixture.ts';

function exactBytes(bytes: Uint8Array): ExactBytes {
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

const PARTS = [
  ['attestation', 'envelope', 'application/vnd.dsse.envelope.v1+json'],
  ['result-artifact', 'result_artifact', 'application/vnd.svc.execution-result.v1+json'],
] as const;

describe.each(PARTS)('GET %s', (path, part, mediaType) => {
  test.each([0, 1, 65_535, 65_536, 65_537, 16 * 1024 * 1024])(
    'answers a document of %i bytes unchanged',
    async (length) => {
      // Bytes that are not UTF-8, in a view of a larger buffer. No code may decode them, or count bytes outside of the view.
      const bytes = new Uint8Array(length + 2).fill(0xfe).subarray(1, length + 1);
      const asked: string[] = [];
      await using server = await openServer({
        jobs: {
          attestation: async (_caller, _id, wanted) => {
            asked.push(wanted);
            return exactBytes(bytes);
          },
        },
      });
      const response = await fetch(`${server.url}/v1/jobs/${JOB}/${path}`, { headers: bearer() });
      const received = Buffer.from(await response.arrayBuffer());
      expect(response.status).toBe(200);
      expect(asked).toEqual([part]);
      expect(response.headers.get('content-type')).toBe(mediaType);
      expect(response.headers.get('content-length')).toBe(String(length));
      expect(response.headers.get('x-content-sha256')).toBe(exactBytes(received).sha256);
      expect(received.equals(bytes)).toBe(true);
      await expect.poll(() => server.permits.held('response')).toBe(0);
    },
  );

  test('holds a response permit until the reader has everything', { tags: ['Evidence-4'] }, async () => {
    const attestation = async () => exactBytes(new Uint8Array(16 * 1024 * 1024));
    await using server = await openServer({ jobs: { attestation }, permits: { response: { total: 9, perTenant: 1 } } });
    using slow = await RawSocket.open(server.port);
    slow.socket.pause();
    const head = 'Host: svc.example\r\nAuthorization: Bearer key-of-acme\r\n';
    slow.send(`GET /v1/jobs/${JOB}/${path} HTTP/1.1\r\n${head}\r\n`);
    await expect.poll(() => server.permits.held('response')).toBe(1);
    const refused = await fetch(`${server.url}/v1/jobs/${JOB}/${path}`, { headers: bearer() });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    slow[Symbol.dispose]();
    await expect.poll(() => server.permits.held('response')).toBe(0);
  });
});
