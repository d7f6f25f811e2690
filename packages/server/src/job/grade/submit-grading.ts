/** Stores a request as a grading, on disk before the client is answered, or refuses it and stores nothing. */
import { type GradingAnswer, gradingPath } from '@vouchbox/protocol';
import type { Caller } from '../../ground/caller.ts';
import { ServiceError } from '../../ground/service-error.ts';
import type { AcceptedGrading, GradingAdmitted } from '../../store/gradings/admission.ts';
import type { StoredBlobRow } from '../../store/records/rows.ts';
import type { Store } from '../../store/store.ts';
import { type AdmitOptions, full, keyReused, withFittingLimits } from '../admit/admit.ts';
import { blobUnavailable } from '../admit/named-inputs.ts';
import { nextPlace } from '../admit/next-place.ts';
import { refusal } from '../admit/refuse.ts';
import { blobContent } from '../blob-content.ts';
import type { Submission } from '../jobs.ts';
import type { Nudges } from '../nudges.ts';
import { shuttingDown } from '../refusals.ts';
import { checkExpected, gradersOf, namedTexts, type ParsedGrading, parseGrading, pointing } from './grading-body.ts';
import { type FilesOptions, withFiles } from './grading-files.ts';

export interface SubmitGradingOptions
  extends Omit<FilesOptions, 'store'>,
    Pick<AdmitOptions, 'own' | 'others' | 'ceilings' | 'queue' | 'checkFreeSpace' | 'shutdown'> {
  readonly store: FilesOptions['store'] &
    Pick<Store, 'admitGrading' | 'findGradingByKey' | 'gradingDigest' | 'blob' | 'blobPiece'>;
  readonly nudges: Pick<Nudges, 'send'>;
}

export interface SubmittedGrading {
  readonly answer: GradingAnswer;
  readonly replayed: boolean;
}

/**
 * @throws ServiceError as `parseGrading` does; as `fitOf` does if no node can run a program; `idempotency_key_reused`,
 * `blob_unavailable`, `insufficient_storage`, `worker_unavailable`, `queue_full`, `tenant_capacity_exhausted`, `shutting_down`;
 * `unauthorized` if the authority ended meanwhile
 */
export async function submitGrading(
  caller: Caller,
  { body, idempotencyKey: key, checkAuthority }: Submission,
  options: SubmitGradingOptions,
): Promise<SubmittedGrading> {
  if (options.shutdown.aborted) throw shuttingDown();
  const { store, queue, nudges } = options;
  const { tenant, principal } = caller;
  const sent = parseGrading(body);
  const idempotency = key === null ? null : { key, spec_sha256: await store.gradingDigest(sent) };
  const earlier = idempotency === null ? null : await store.findGradingByKey({ tenant, key: idempotency.key });
  if (earlier !== null) {
    await checkAuthority?.();
    if (earlier.spec_sha256 !== idempotency?.spec_sha256) throw keyReused('grading');
    return { answer: answerOf(earlier), replayed: true };
  }
  const named = await checkedBlobs(tenant, sent, store);
  checkFit(sent, options);
  options.checkFreeSpace();
  const { parsed, names } = await withFiles(caller, sent, options);
  for (const upload of named.held) await holdText(tenant, upload, options);
  await checkAuthority?.();
  const { created_at, job_id } = nextPlace(Date.now());
  const admitted = await store.admitGrading({
    tenant,
    principal,
    grading_id: job_id.replace(/^job_/, 'grading_'),
    created_at,
    common: JSON.stringify(parsed.common),
    programs: parsed.programs.map(({ state, content }) => textsOf(state, content)),
    tests: parsed.tests.map(({ head, content }) => textsOf(head, content)),
    blobs: [...named.plain, ...names],
    held: named.held.map(({ sha256 }) => sha256),
    idempotency,
    queueMax: queue.total,
    tenantQueueMax: queue.perTenant,
  });
  if (admitted.kind === 'created') nudges.send('gradings');
  return submitted(admitted);
}

function textsOf(head: object, content: object) {
  return { head: JSON.stringify(head), content: JSON.stringify(content) };
}

interface NamedUploads {
  readonly plain: readonly string[];
  readonly held: readonly Upload[];
}

interface Upload extends StoredBlobRow {
  readonly sha256: string;
}

/** The uploads that the grading names, each listed once. Each size is compared with its bound. */
async function checkedBlobs(
  tenant: string,
  parsed: ParsedGrading,
  { blob }: SubmitGradingOptions['store'],
): Promise<NamedUploads> {
  const named = namedTexts(parsed);
  const uploads = new Map<string, Upload>();
  for (const sha256 of new Set(named.map((text) => text.sha256))) {
    const found = await blob({ tenant, sha256 });
    if (found !== null) uploads.set(sha256, { sha256, ...found });
  }
  for (const { sha256, pointer, bytesMax } of named) {
    const bytes = uploads.get(sha256)?.size_bytes;
    if (bytes === undefined) throw refusal('blob_unavailable', pointer, 'is not a blob of the tenant');
    const problem = `is ${bytes} bytes; at most ${bytesMax} are allowed`;
    if (bytes > bytesMax) throw refusal('payload_too_large', pointer, problem);
  }
  checkExpected(parsed, new Map([...uploads].map(([sha256, { size_bytes }]) => [sha256, size_bytes])));
  const held = new Set(named.filter(({ isHeld }) => isHeld).map(({ sha256 }) => sha256));
  return {
    plain: [...new Set(named.filter(({ isHeld }) => !isHeld).map(({ sha256 }) => sha256))],
    held: [...uploads.values()].filter(({ sha256 }) => held.has(sha256)),
  };
}

/** Copies an upload to a place where no caller can name it. */
async function holdText(
  tenant: string,
  { sha256, ...upload }: Upload,
  { store, blobs }: SubmitGradingOptions,
): Promise<void> {
  const chunks = blobContent(store, { tenant, sha256, ...upload });
  await blobs.hold(tenant, { sha256, bytesMax: upload.size_bytes, chunks });
}

/** Checks that some node can run each program, each of the grader's programs, and the judge. */
function checkFit({ common, programs }: ParsedGrading, options: SubmitGradingOptions): void {
  const { limits, requirements, interactor } = common;
  const all = [
    ...programs.map(({ content }, at) => ({ pointer: `/programs/${at}`, ...content })),
    ...gradersOf(common).flatMap(({ pointer, grader }) => (grader === interactor ? [] : { pointer, ...grader })),
    { pointer: '', language: 'python', runtime: null } as const,
  ];
  const checked = new Set<string>();
  const shared = { limits, requirements, code: '', stdin: null, args: [], env: {}, files: [], outputs: [] };
  for (const { pointer, language, runtime } of all) {
    const kind = `${language} ${runtime}`;
    if (checked.has(kind)) continue;
    checked.add(kind);
    try {
      withFittingLimits({ program: { language, runtime, ...shared }, interactor: null }, options);
    } catch (error) {
      // The requirements belong to the whole grading, so a refusal because of them does not point into a program.
      throw error instanceof ServiceError && error.code === 'runtime_unavailable' ? pointing(pointer, error) : error;
    }
  }
  if (interactor === undefined) return;
  const other = { language: interactor.language, runtime: interactor.runtime, ...shared };
  for (const { content } of programs) {
    const { language, runtime } = content;
    withFittingLimits({ program: { language, runtime, ...shared }, interactor: other }, options);
  }
}

function submitted(admitted: GradingAdmitted): SubmittedGrading {
  switch (admitted.kind) {
    case 'created':
    case 'replayed':
      return { answer: answerOf(admitted.grading), replayed: admitted.kind === 'replayed' };
    case 'key_reused':
      throw keyReused('grading');
    case 'blob_unavailable':
      throw blobUnavailable();
    case 'full':
      throw full(admitted.of);
  }
}

/** The answer to every request with the same key. It shows no later status, which only readers of the grading may learn. */
function answerOf({ grading_id, created_at }: AcceptedGrading): GradingAnswer {
  return {
    grading_id,
    status: 'running',
    created_at,
    grading_url: gradingPath('getGrading', grading_id),
    events_url: gradingPath('gradingEvents', grading_id),
  };
}
