/** The `Idempotency-Key` of a submission. Spec § POST /v1/jobs. */
import { idempotencyKeyBytesMax } from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';

/**
 * The key, or null if none was sent. `head.ts` has already refused duplicates.
 *
 * @throws ServiceError `invalid_request` unless the key is 1–128 visible ASCII bytes
 */
export function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const isKey = typeof header === 'string' && header.length <= idempotencyKeyBytesMax && /^[\x21-\x7e]+$/.test(header);
  if (isKey) return header;
  throw new ServiceError(
    'invalid_request',
    `The header "idempotency-key" must be 1 to ${idempotencyKeyBytesMax} visible ASCII characters.`,
  );
}
