/** What the service says about its signing: the key, and what prevents signatures. The answers never name a path on the host. */
import { originOfLog } from '@vouchbox/evidence';
import type { Capabilities, PublicKey, ServiceStatus } from '@vouchbox/protocol';
import type { Attestor, SigningProblem } from '../job/sign/attestor.ts';
import type { PublicKeys } from '../start/open-signing.ts';
import type { StoreCounts } from '../store/records/answers.ts';
import type { LogCounts } from '../store/records/log.ts';

/** The key with which this service signs, and the problem that prevents signatures, here or on the other nodes that sign. */
export interface Signing {
  readonly keys: Pick<PublicKeys, 'published'>;
  readonly attestor: Pick<Attestor, 'problem'>;
  /** Null if no log is kept. */
  readonly logKeeper: LogFacts | null;
}

/** The problem that prevents logging, and the last answers of the witnesses. */
export interface LogFacts {
  readonly problem: SigningProblem | null;
  readonly witnesses: readonly { readonly name: string; readonly state: string }[];
}

const ALGORITHM = 'Ed25519';

const TRUST_NOTICE =
  'This key came from the signer itself, so it is not an independent trust anchor: pin it, or get it out of band, before ' +
  'relying on what it signed.';

/** The key that signs now, as the capabilities state it; null until a node has a key. A rotation shows at once. */
export function signerCapability({ keys }: Signing): Capabilities['signer'] {
  const key = keys.published();
  return key === null ? null : { key_id: key.key_id, algorithm: ALGORITHM };
}

/** The body of GET /v1/attestation/public-key, for the key that signs now or signed last. */
export function publicKeyBody({ key_id, public_key_pem }: Pick<PublicKey, 'key_id' | 'public_key_pem'>): PublicKey {
  return { key_id, algorithm: ALGORITHM, public_key_pem, trust_notice: TRUST_NOTICE };
}

/** The part of /v1/status about signing. `signing` is null if the operator turned signing off. */
export function signerStatus(
  signing: Signing | null,
  { outbox, outbox_error }: Pick<StoreCounts, 'outbox' | 'outbox_error'>,
): ServiceStatus['signer'] {
  const error = signing === null ? null : later(signing.attestor.problem, outbox_error);
  return {
    enabled: signing !== null,
    outbox_depth: outbox,
    last_error: error?.message ?? null,
    last_error_at: error?.at ?? null,
  };
}

/** The part of /v1/status about the log; null if no log is kept. `counts` is null until the log was opened. */
export function logStatus(
  signing: Signing | null,
  host: string | null,
  counts: LogCounts | null,
): ServiceStatus['log'] {
  if (host === null) return null;
  const problem = signing?.logKeeper?.problem ?? null;
  return {
    origin: originOfLog(counts ?? { host, tree: 1 }),
    size: counts?.size ?? 0,
    signed_size: counts?.signed_size ?? 0,
    waiting: counts?.waiting ?? 0,
    last_error: problem?.message ?? null,
    last_error_at: problem?.at ?? null,
    witnesses: (signing?.logKeeper?.witnesses ?? []).map(({ name, state }) => ({ name, state })),
  };
}

function later(one: SigningProblem | null, other: SigningProblem | null): SigningProblem | null {
  if (one === null || other === null) return one ?? other;
  return one.at >= other.at ? one : other;
}
