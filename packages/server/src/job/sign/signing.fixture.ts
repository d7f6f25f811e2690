/** For tests of signing: ended jobs in a real store, and an auditor's check of their attestations. */
import { type EnvelopeVerification, resultSubjectName, verifyEnvelope } from '@vouchbox/evidence';
import { type EventBody, RESULT_MEDIA_TYPE } from '@vouchbox/protocol';
import type { FinishInput } from '../../store/records/inputs.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { finishOf, runJob, stdout } from '../../store/store.fixture.ts';
import type { Store } from '../../store/store.ts';

/** A job that ran, wrote these lines and ended. */
export async function endedJob(
  store: Store,
  { lines = ['hello'], ...changes }: { readonly lines?: readonly string[] } & Partial<FinishInput> = {},
): Promise<JobKey> {
  const key = await runJob(store);
  await store.append(
    key,
    lines.map((line): EventBody => stdout(line)),
  );
  await store.finish(finishOf(key, changes));
  return key;
}

/** Checks a job's stored attestation like an auditor who pinned the key. */
export async function audited(store: Store, key: JobKey, pem: string): Promise<EnvelopeVerification> {
  const stored = await store.attestation({ key, part: 'result_artifact' });
  if (stored?.result_artifact == null) throw new Error('the job is not attested');
  return verifyEnvelope({
    envelope: new Uint8Array(stored.envelope),
    subject: new Uint8Array(stored.result_artifact),
    publicKeys: [pem],
    expected: { tenant: key.tenant, subjectName: resultSubjectName(key.job_id), mediaType: RESULT_MEDIA_TYPE },
  });
}
