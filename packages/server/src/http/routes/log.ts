/**
 * The log, for anyone: its head, its tiles of hashes and its proofs, beside the contract's operations. Leaves are only hashes,
 * so the answers here show nothing about a job except that it exists. https://c2sp.org/tlog-tiles; docs/LOG.md.
 */
import { tileHashes } from '@vouchbox/evidence';
import { BLOB_MEDIA_TYPE, LOG_MEDIA_TYPE } from '@vouchbox/protocol';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createRateBudget, type RateBound } from '../../capacity/rate.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { answered } from '../../job/answered.ts';
import type { PublicLog } from '../../job/log/read-log.ts';
import { sendEmpty } from '../call/respond.ts';
import { etagOf, hasIt } from '../request/etag.ts';
import { noSuchRoute } from '../request/target.ts';

/** The budget that all readers of the log share, so that they do not crowd out callers of the service. */
const RATE: RateBound = { perSecond: 100, burst: 400 };

/** A full tile never changes within its tree. But another tree may be opened under the same paths, so clients must ask again. */
const REVALIDATED = 'public, no-cache';

export function addLog(app: FastifyInstance, log: PublicLog, bound = RATE): void {
  const rate = createRateBudget(bound);
  const route = (path: string, answer: (request: FastifyRequest) => Promise<Answer | null>) =>
    app.get(`/log/${path}`, async (request, reply) => {
      const { allowed, retryAfterSeconds } = rate.spend('log');
      if (!allowed) throw new ServiceError('rate_limited', 'The log is read too often.', { retryAfterSeconds });
      const found = await answered(answer(request));
      if (found === null) throw noSuchRoute();
      const bytes = Buffer.from(found.content);
      reply.header('access-control-allow-origin', '*').header('cache-control', found.isKept ? REVALIDATED : 'no-store');
      if (found.isKept) {
        const etag = etagOf(bytes);
        reply.header('etag', etag);
        if (hasIt(request.headers['if-none-match'], etag)) return sendEmpty(reply.code(304));
      }
      reply.header('content-type', found.mediaType ?? LOG_MEDIA_TYPE).header('content-length', bytes.length);
      return reply.send(bytes);
    });
  route('checkpoint', async () => textOf(await log.checkpoint()));
  route('keys', async () => {
    const keys = await log.keys();
    return keys && { content: `${JSON.stringify(keys)}\n`, mediaType: 'application/json' };
  });
  route('proof', async ({ query }) => {
    const { hash } = query as { hash?: unknown };
    const isHash = typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash);
    return isHash ? textOf(await log.proof(Buffer.from(hash, 'hex'))) : null;
  });
  route('consistency', async ({ query }) => {
    const { old } = query as { old?: unknown };
    const isSize = typeof old === 'string' && /^(0|[1-9]\d{0,14})$/.test(old);
    return isSize ? textOf(await log.consistency(Number(old))) : null;
  });
  route('tile/*', async ({ params }) => {
    const tile = tileOf((params as { '*': string })['*']);
    const content = tile && (await log.tile(tile));
    if (content === null) return null;
    return { content, mediaType: BLOB_MEDIA_TYPE, isKept: tile?.width === tileHashes };
  });
}

interface Answer {
  readonly content: string | Uint8Array;
  readonly mediaType?: string;
  /** Whether caches may keep the answer. */
  readonly isKept?: boolean;
}

function textOf(content: string | null): Answer | null {
  return content === null ? null : { content };
}

/** The tile in a path: `2/x001/x234/067` is tile 1,234,067 of level 2. A partial tile of N hashes ends in `.p/N`. */
function tileOf(path: string): { readonly level: number; readonly index: number; readonly width: number } | null {
  const { level, index, width } =
    /^(?<level>\d|[1-5]\d|6[0-3])\/(?<index>(?:x\d{3}\/){0,4}\d{3})(?:\.p\/(?<width>[1-9]\d{0,2}))?$/.exec(path)
      ?.groups ?? {};
  if (level === undefined || index === undefined || index.startsWith('x000')) return null;
  const wide = width === undefined ? tileHashes : Number(width);
  if (wide > tileHashes || width === String(tileHashes)) return null;
  return { level: Number(level), index: Number(index.replaceAll(/[x/]/g, '')), width: wide };
}
