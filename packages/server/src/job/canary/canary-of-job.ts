/**
 * A job's canary: the envelope whose digest the job's own envelope names. No caller belongs to the tenant of canaries, so a
 * canary is found only through a job that names it.
 */
import { CANARY_TENANT, canaryNamedIn } from '@vouchbox/evidence';
import { ServiceError } from '../../ground/service-error.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { type AttestationOptions, attestationBytes, type ExactBytes } from '../view/attestation.ts';
import { predicateIn } from './signed-predicate.ts';

/** @throws ServiceError `canary_not_found`; and as `attestationBytes` does for the job */
export async function canaryOfJob(key: JobKey, options: AttestationOptions): Promise<ExactBytes> {
  const own = await attestationBytes(key, 'envelope', options);
  const predicate = predicateIn(own.bytes);
  const named = predicate === null ? null : canaryNamedIn(predicate);
  const found = named === null ? null : await keptCanary(named.jobId, options);
  if (found === null || found.sha256 !== named?.sha256)
    throw new ServiceError('canary_not_found', 'The job names no canary, or one that is no longer kept.');
  return found;
}

/** A canary's envelope; null if retention has removed it, or it cannot be served for another reason. */
async function keptCanary(job_id: string, options: AttestationOptions): Promise<ExactBytes | null> {
  try {
    return await attestationBytes({ tenant: CANARY_TENANT, job_id }, 'envelope', options);
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
