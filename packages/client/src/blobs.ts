/** Files that are uploaded once and then named in submissions. This module is loaded when a client first needs it. */
import { blobBytesMax, connectionMillisecondsMax } from '@vouchbox/protocol/vocabulary';
import { checkAnswer } from './answer-check.ts';
import { retrying } from './backoff.ts';
import type { StoredBlob } from './contract-types.ts';
import type { ExactBytes } from './exact-bytes.ts';
import { TransportFailure } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import { once, repeated } from './operation.ts';
import type { Session } from './session.ts';
import type { FileContent } from './submission.ts';
import { decodeJson } from './transport.ts';

/** The shortest timeout for a request that uploads or downloads a file, in milliseconds. */
const blobMilliseconds = 60_000;

function patient(session: Session): Session {
  return { ...session, timeoutMilliseconds: Math.max(session.timeoutMilliseconds, blobMilliseconds) };
}

/** Stores a file. The upload may be repeated, because equal content is stored as one blob. */
export async function upload(
  session: Session,
  content: FileContent,
  { signal }: CallOptions = {},
): Promise<StoredBlob> {
  const bytes = new Uint8Array(await new Response(content).arrayBuffer());
  const call = { sha256: await session.sha256(bytes), bytes, signal };
  const answer = await repeated(patient(session), 'PUT /v1/blobs/sha256/{sha256}', call);
  const stored = checkAnswer<StoredBlob>('PUT /v1/blobs/sha256/{sha256}', decodeJson(answer));
  if (stored.blob === `sha256:${call.sha256}`) return stored;
  throw new TransportFailure('digest', 'the service stored another file');
}

/**
 * Fetches a file by its name, `sha256:…`.
 *
 * @throws TransportFailure `digest` if the bytes have another digest
 */
export async function download(session: Session, blob: string, { signal }: CallOptions = {}): Promise<ExactBytes> {
  const sha256 = blob.replace(/^sha256:/, '');
  const call = { sha256, accept: '*/*', signal } as const;
  const { bytes, headers } = await repeated(patient(session), 'GET /v1/blobs/sha256/{sha256}', call);
  if ((await session.sha256(bytes)) !== sha256) throw new TransportFailure('digest', `the answer is not ${blob}`);
  return { bytes, sha256, mediaType: headers.get('content-type') ?? '' };
}

/** A digest that is computed piece by piece, such as Node's `createHash('sha256')`. Browsers have no such digest. */
export interface RunningHash {
  update(piece: Uint8Array): unknown;
  digest(encoding: 'hex'): string;
}

/**
 * Fetches a file by its name, `sha256:…`, piece by piece. The file is whole only if this ends without an error. The request is
 * tried several times, but if the answer breaks off, the caller has to fetch the file again.
 * @throws TransportFailure `digest` if the received bytes have another digest, `truncated` if the answer broke off
 */
export async function* pieces(
  session: Session,
  blob: string,
  { hash, signal }: CallOptions & { readonly hash: RunningHash },
): AsyncGenerator<Uint8Array, void> {
  const sha256 = blob.replace(/^sha256:/, '');
  const milliseconds = Math.max(session.timeoutMilliseconds, blobMilliseconds);
  const lasting = { ...session, timeoutMilliseconds: connectionMillisecondsMax };
  // Each try is watched on its own. The pauses between tries are not watched.
  const open = async () => {
    const watched = new Watch(milliseconds, signal);
    const call = { sha256, accept: '*/*', stream: true, signal: watched.signal } as const;
    return [watched, await watched.over(once(lasting, 'GET /v1/blobs/sha256/{sha256}', call))] as const;
  };
  const [watch, { body, headers }] = await retrying(open, { ...session, signal });
  const reader = (body as ReadableStream<Uint8Array> | null | undefined)?.getReader();
  let received = 0;
  try {
    while (reader !== undefined) {
      const { done, value } = await watch.over(reader.read());
      if (done) break;
      received += value.length;
      if (received > blobBytesMax) throw new TransportFailure('digest', `the answer is larger than any file: ${blob}`);
      hash.update(value);
      yield value;
    }
  } finally {
    // A reader that stops early does not need the rest of the file.
    watch.stop();
  }
  if (hash.digest('hex') === sha256) return;
  const declared = headers.get('content-length');
  const isCut = declared !== null && received < Number(declared);
  throw new TransportFailure(isCut ? 'truncated' : 'digest', `the answer is not ${blob}`);
}

/** Ends an exchange if the service sends nothing for too long. The caller may take as long as it likes between pieces. */
class Watch {
  readonly #silent = new AbortController();
  readonly #milliseconds: number;
  readonly signal: AbortSignal;

  constructor(milliseconds: number, given: AbortSignal | undefined) {
    this.#milliseconds = milliseconds;
    this.signal = given === undefined ? this.#silent.signal : AbortSignal.any([this.#silent.signal, given]);
  }

  /** Awaits the work. If the exchange was ended, fails with the reason. */
  async over<T>(work: Promise<T>): Promise<T> {
    const late = new TransportFailure('timeout', 'the answer to GET /v1/blobs stopped');
    const timer = setTimeout(() => this.#silent.abort(late), this.#milliseconds);
    try {
      return await work;
    } catch (cause) {
      this.signal.throwIfAborted();
      if (!(cause instanceof TypeError) && !(cause instanceof DOMException)) throw cause;
      throw new TransportFailure('truncated', 'the answer to GET /v1/blobs broke off', { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  stop(): void {
    this.#silent.abort();
  }
}
