/** Reads the statement in a stored envelope. The store's readers have already checked the signature. */
import { decodeEnvelope, decodeStatement, type ExecutionPredicate, readPredicate } from '@vouchbox/evidence';

/** The predicate in an envelope; null for a statement that is not about a job. */
export function predicateIn(envelope: Uint8Array): ExecutionPredicate | null {
  const decoded = decodeEnvelope(envelope);
  const statement = decoded.kind === 'refused' ? null : decodeStatement(decoded.envelope.payload);
  const read = statement?.kind === 'statement' ? readPredicate(statement.statement.predicate) : null;
  return read?.kind === 'predicate' ? read.predicate : null;
}
