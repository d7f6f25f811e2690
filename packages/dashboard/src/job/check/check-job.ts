/** The page's side of the checking thread: reads the service's record of a job and passes it to the thread. */
import type { JobDetail, JobEvent, ServiceClient } from '@vouchbox/client';
import type { StoredReceipt } from '@vouchbox/evidence';
import type { PinnedKey } from '../../session/pinned-keys.ts';
import type { CheckedRecord, SignedRecord } from './check-record.ts';
import type { CheckAnswer, CheckMessage } from './check-worker.ts';

interface Asked {
  readonly client: ServiceClient;
  readonly job_id: string;
  /** The caller's tenant. */
  readonly tenant: string;
  /** The pinned keys. Without any, the check says whether the record is whole, but nothing about who made it. */
  readonly pinned: readonly PinnedKey[];
  readonly signal: AbortSignal;
}

/** What is needed to read a job's data. The signer's key is looked up among the pinned keys first. */
type Read = Pick<Asked, 'client' | 'job_id' | 'pinned' | 'signal'>;

type Give = (message: CheckMessage) => void;

const NO_THREAD = 'This browser could not start a check, or had too little memory for it.';

/** The most events on a page. */
const pageEvents = 1000;

/**
 * Reads an ended job's record, and checks it in a separate thread, which ends when it has answered.
 *
 * @throws ServiceFailure or TransportFailure if the record cannot be read, and Error if it cannot be checked
 */
export async function checkJob(asked: Asked): Promise<CheckedRecord> {
  const answer = await askThread(asked.signal, (give) => giveRecord(asked, give));
  if (answer.kind !== 'checked') throw new Error(NO_THREAD);
  return answer.checked;
}

/** Starts a thread, gives it a job, and returns its one answer. */
export async function askThread(signal: AbortSignal, giveAll: (give: Give) => Promise<void>): Promise<CheckAnswer> {
  const worker = new Worker(new URL('./check-worker.ts', import.meta.url), { type: 'module' });
  try {
    const [answer] = await Promise.all([answerOf(worker, signal), giveAll((message) => worker.postMessage(message))]);
    if (answer.kind === 'problem') throw new Error(answer.text);
    return answer;
  } finally {
    worker.terminate();
  }
}

function answerOf(worker: Worker, signal: AbortSignal): Promise<CheckAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<CheckAnswer>();
  worker.addEventListener('message', ({ data }: MessageEvent<CheckAnswer>) => resolve(data));
  worker.addEventListener('error', () => reject(new Error(NO_THREAD)));
  worker.addEventListener('messageerror', () => reject(new Error(NO_THREAD)));
  signal.addEventListener('abort', () => reject(signal.reason as Error));
  return promise;
}

async function giveRecord(asked: Asked, give: Give): Promise<void> {
  const { client, job_id, tenant, pinned, signal } = asked;
  const detail = await client.detail(job_id, { signal });
  if (detail.receipt === undefined) throw new Error('The job has no receipt yet.');
  const receipt = detail.receipt as unknown as StoredReceipt;
  const [signed] = await Promise.all([pinned.length === 0 ? null : readSigned(asked, detail), giveEvents(asked, give)]);
  const publicKeys = pinned.map(({ pem }) => pem);
  give({ kind: 'check', record: { job_id, tenant, receipt, signed: signed && { ...signed, publicKeys } } });
}

/** Passes each page of events on as soon as it is read, because passing on all at once would block the browser. */
export async function giveEvents({ client, job_id, signal }: Omit<Read, 'pinned'>, give: Give): Promise<void> {
  for (let after: number | null = 0; after !== null; ) {
    const { events, next_cursor }: Awaited<ReturnType<ServiceClient['replay']>> = await client.replay(job_id, {
      after,
      limit: pageEvents,
      signal,
    });
    give({ kind: 'events', events: events as JobEvent[] });
    after = events.length === 0 ? null : next_cursor;
  }
}

/** Reads the parts of an export other than the receipt and the events. */
export async function readSigned(read: Read, detail: JobDetail): Promise<SignedRecord> {
  const { client, job_id, signal } = read;
  const [envelope, result, folded] = await Promise.all([
    client.attestation(job_id, { signal }),
    client.resultArtifact(job_id, { signal }),
    client.result(job_id, { signal }),
  ]);
  return {
    envelope: envelope.bytes,
    result_artifact: result.bytes,
    public_key_pem: await signerOf(detail, read),
    requested_spec: detail.requested_spec,
    artifacts: folded.artifacts.map(({ path, content_base64 }) => ({ path, content_base64 })),
  };
}

/** The key that the export names, for comparison. A service knows only its current key, so pinned keys are searched first. */
async function signerOf({ attestation }: JobDetail, { client, pinned, signal }: Read): Promise<string> {
  const known = pinned.find(({ key_id }) => key_id === attestation.key_id);
  return known?.pem ?? (await client.publicKey({ signal })).public_key_pem;
}
