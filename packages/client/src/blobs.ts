/** Files that are uploaded once and then named by submissions. Loaded when a client first needs it. */
import { checkAnswer } from './answer-check.ts';
import type { StoredBlob } from './contract-types.ts';
import type { ExactBytes } from './exact-bytes.ts';
import { TransportFailure } from './failure.ts';
import type { CallOptions } from './job-options.ts';
import { repeated } from './operation.ts';
import type { Session } from './session.ts';
import type { FileContent } from './submission.ts';
import { decodeJson } from './transport.ts';

/** How long a body may take to arrive at the service, and its answer to come back. */
const blobMilliseconds = 60_000;

function patient(session: Session): Session {
  return { ...session, timeoutMilliseconds: Math.max(session.timeoutMilliseconds, blobMilliseconds) };
}

/** Stores a file. It may be sent again: equal content is one blob. */
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
 * @throws TransportFailure `digest` if what comes has another digest
 */
export async function download(session: Session, blob: string, { signal }: CallOptions = {}): Promise<ExactBytes> {
  const sha256 = blob.replace(/^sha256:/, '');
  const call = { sha256, accept: '*/*', signal } as const;
  const { bytes, headers } = await repeated(patient(session), 'GET /v1/blobs/sha256/{sha256}', call);
  if ((await session.sha256(bytes)) !== sha256) throw new TransportFailure('digest', `the answer is not ${blob}`);
  return { bytes, sha256, mediaType: headers.get('content-type') ?? '' };
}
