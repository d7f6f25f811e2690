/**
 * The canary of a job: the envelope that the job's own envelope names by its digest. No caller has the tenant of canaries, so a
 * canary is found only through a job that names it.
 */
import { CANARY_TENANT, canaryNamedIn } from '@vouchbox/evidence';
import { ServiceError } from '../../ground/service-error.ts';
import type { JobKey } from '../../store/records/rows.ts';
import { type AttestationOptions, attestationBytes, type ExactBytes } from '../view/attestation.ts';
import { predicateIn } from './signed-predicate.ts';

/** @throws ServiceError as `attestationBytes` does for the job; `canary_not_found` */
export async function canaryOfJob(key: JobKey, options: AttestationOptions): Promise<ExactBytes> {
  const own = await attestationBytes(key, 'envelope', options);
  const predicate = predicateIn(own.bytes);
  const named = predicate === null ? null : canaryNamedIn(predicate);
  const found = named === null ? null : await keptCanary(named.jobId, options);
  if (found === null || found.sha256 !== named?.sha256)
    throw new ServiceError('canary_not_found', 'The job names no canary, or one that is no longer kept.');
  return found;
}

/** The envelope of a canary; null if retention has removed it, or it cannot be served. */
async function keptCanary(job_id: string, options: AttestationOptions): Promise<ExactBytes | null> {
  try {
    return await attestationBytes({ tenant: CANARY_TENANT, job_id }, 'envelope', options);
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
