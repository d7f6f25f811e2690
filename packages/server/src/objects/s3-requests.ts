/**
 * Signed requests to one bucket of an S3-compatible store: AWS Signature Version 4 over the method, the path, the host and the
 * digest of the body. Only the configured host is ever asked: a redirection is refused.
 */
import { readUpTo, sha256Hex } from '@vouchbox/evidence';
import { AwsV4Signer } from 'aws4fetch';
import { ObjectError } from './object-store.ts';

export interface S3Place {
  /** `https://HOST/BUCKET` or `https://HOST/BUCKET/PREFIX`, without a slash at its end. */
  readonly url: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly body?: Uint8Array<ArrayBuffer>;
  /** How many milliseconds the whole answer may take. */
  readonly milliseconds: number;
  /** How many bytes of the answer's body are read at most. */
  readonly bytesMax: number;
}

export interface S3Answer {
  readonly status: number;
  /** Null if the body is longer than allowed. */
  readonly body: Uint8Array | null;
  /** The length that the answer states for its body, even if it has no body; null if it states none. */
  readonly length: number | null;
}

/** Sends one request and reads its answer. @throws ObjectError `unreachable` */
export async function askS3(place: S3Place, request: S3Request): Promise<S3Answer> {
  const { method, url, body, milliseconds, bytesMax } = request;
  const signer = new AwsV4Signer({
    method,
    url,
    headers: { 'x-amz-content-sha256': sha256Hex(body ?? new Uint8Array()) },
    service: 's3',
    region: place.region,
    accessKeyId: place.accessKey,
    secretAccessKey: place.secretKey,
  });
  const { headers } = await signer.sign();
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(milliseconds),
      ...(body !== undefined && { body }),
    });
    const length = response.headers.get('content-length');
    return {
      status: response.status,
      body: await readUpTo(response.body, bytesMax),
      length: length === null ? null : Number(length),
    };
  } catch (cause) {
    throw new ObjectError('unreachable', `the object store does not answer: ${reasonOf(cause)}`, { cause });
  }
}

/** What is wrong, in the words of the system. The address is left out, since the caller knows it. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.name === 'TimeoutError') return 'it took too long';
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return code ?? 'the connection broke off';
}
