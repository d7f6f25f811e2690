/** An object store that speaks the S3 protocol, with path-style addresses: `https://HOST/BUCKET/PREFIX/KEY`. */
import { setTimeout as pause } from 'node:timers/promises';
import { ObjectError, type ObjectStore } from './object-store.ts';
import { askS3, type S3Answer, type S3Place, type S3Request } from './s3-requests.ts';

/** How long a request may take. An object has at most 16 MiB. */
const transferMilliseconds = 30_000;
const briefMilliseconds = 10_000;
/** Pauses before the second and the third try of an operation. A later try may succeed. */
const pausesMilliseconds = [200, 1000];
/** The most bytes of an answer without an object. Such an answer may contain an error in XML. */
const errorBytesMax = 64 * 1024;

export function openS3(place: S3Place): ObjectStore {
  const ask = (request: Omit<S3Request, 'url'>, key?: string) =>
    askOften(place, { ...request, url: key === undefined ? bucketOf(place) : `${place.url}/${key}` });
  return {
    name: place.url,
    async put(key, bytes) {
      const body = new Uint8Array(bytes);
      const answer = await ask(
        { method: 'PUT', body, milliseconds: transferMilliseconds, bytesMax: errorBytesMax },
        key,
      );
      if (!isSuccess(answer)) throw refusalOf(answer);
    },
    async get(key, bytesMax) {
      // The answer may be an error, which may be longer than the object.
      const bound = Math.max(bytesMax, errorBytesMax);
      const answer = await ask({ method: 'GET', milliseconds: transferMilliseconds, bytesMax: bound }, key);
      if (!isSuccess(answer)) throw refusalOf(answer);
      if (answer.body === null || answer.body.length > bytesMax) {
        throw new ObjectError('damaged', 'an object is longer than the content that was put');
      }
      return answer.body;
    },
    async size(key) {
      const answer = await ask({ method: 'HEAD', milliseconds: briefMilliseconds, bytesMax: errorBytesMax }, key);
      // The answer to HEAD has no body that would say whether the object or the bucket is missing.
      if (answer.status === 404) throw missing();
      if (!isSuccess(answer)) throw refusalOf(answer);
      return answer.length ?? 0;
    },
    async remove(key) {
      const answer = await ask({ method: 'DELETE', milliseconds: briefMilliseconds, bytesMax: errorBytesMax }, key);
      if (isSuccess(answer)) return;
      const refusal = refusalOf(answer);
      if (refusal.code !== 'missing') throw refusal;
    },
    async check() {
      const answer = await ask({ method: 'HEAD', milliseconds: briefMilliseconds, bytesMax: errorBytesMax });
      if (!isSuccess(answer)) throw refusalOf(answer);
    },
  };
}

/** The address of the bucket, without the prefix. */
function bucketOf({ url }: S3Place): string {
  const { origin, pathname } = new URL(url);
  return `${origin}/${pathname.split('/')[1] ?? ''}`;
}

/** Sends a request up to three times. Any request may be repeated: a put writes the same bytes, and nothing else uses its key. */
async function askOften(place: S3Place, request: S3Request): Promise<S3Answer> {
  for (const milliseconds of pausesMilliseconds) {
    const answer = await askS3(place, request).catch((error: ObjectError) => error);
    if (!(answer instanceof ObjectError) && !isOverloaded(answer)) return answer;
    await pause(milliseconds);
  }
  return await askS3(place, request);
}

function isSuccess({ status }: S3Answer): boolean {
  return status >= 200 && status < 300;
}

function isOverloaded({ status }: S3Answer): boolean {
  return status >= 500 || status === 429;
}

/** The error for a request that the store did not carry out. */
function refusalOf(answer: S3Answer): ObjectError {
  const { status } = answer;
  const code = codeOf(answer);
  const said = code === null ? `HTTP ${status}` : `HTTP ${status}, ${code}`;
  if (status === 404 && code === 'NoSuchKey') return missing();
  if (isOverloaded(answer)) return new ObjectError('unreachable', `the object store cannot work now: ${said}`);
  if (status >= 300 && status < 400) {
    return new ObjectError('refused', `the object store answers with a redirection (${said}), which is not followed`);
  }
  return new ObjectError('refused', `the object store refuses the request: ${said}`);
}

function missing(): ObjectError {
  return new ObjectError('missing', 'the object store has no such object');
}

/** The code of an error, as S3 writes it; null if there is none. It has only letters, so that a log can show it. */
function codeOf({ body }: S3Answer): string | null {
  const text = new TextDecoder().decode(body ?? new Uint8Array());
  return /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1] ?? null;
}
