/** Decides whether two signed heads come from one log that only grew. Uses nothing that only Node has. */
import {
  type Checkpoint,
  type CheckpointResult,
  type Consistency,
  equalHashes,
  headProblem,
  isConsistent,
  type NoteKey,
  parseCheckpoint,
  parseConsistency,
  parseLogProof,
} from '@vouchbox/evidence';

/** The head in a checkpoint or a proof, or why there is no head that the log signed. */
export async function signedHead(bytes: Uint8Array, log: NoteKey): Promise<Checkpoint | string> {
  const result = headIn(bytes);
  if (result.kind === 'refused') return `it has no head: ${result.reason}`;
  return (await headProblem(result.checkpoint, log)) ?? result.checkpoint;
}

function headIn(bytes: Uint8Array): CheckpointResult {
  const proof = parseLogProof(bytes);
  if (proof.kind === 'proof') return { kind: 'checkpoint', checkpoint: proof.proof.checkpoint };
  const grown = parseConsistency(bytes);
  if (grown.kind === 'consistency') return { kind: 'checkpoint', checkpoint: grown.consistency.checkpoint };
  return parseCheckpoint(new TextDecoder().decode(bytes));
}

/** Reads proofs of consistency. The log must have signed the heads in them. */
export async function signedProofs(
  files: readonly Uint8Array[],
  log: NoteKey,
): Promise<{ readonly proofs: readonly Consistency[] } | { readonly problem: string }> {
  const proofs: Consistency[] = [];
  for (const bytes of files) {
    const parsed = parseConsistency(bytes);
    const problem = parsed.kind === 'refused' ? parsed.reason : await headProblem(parsed.consistency.checkpoint, log);
    if (problem !== null || parsed.kind === 'refused')
      return { problem: `a proof of consistency is refused: ${problem}` };
    proofs.push(parsed.consistency);
  }
  return { proofs };
}

/**
 * `forked`: the log signed two heads of one size, which proves that it forked. `changed`: a given proof does not lead from one
 * head to the other. `not_shown`: nothing shows how the heads are related.
 */
export type HeadRelation =
  | { readonly kind: 'one_log'; readonly newest: Checkpoint }
  | { readonly kind: 'forked' | 'changed' | 'not_shown'; readonly problem: string };

/** The relation between two heads. The log has signed both, and also the heads in the proofs. */
export function relationOf(
  [one, other]: readonly [Checkpoint, Checkpoint],
  proofs: readonly Consistency[],
): HeadRelation {
  const heads = [one, other, ...proofs.map(({ checkpoint }) => checkpoint)];
  const fork = heads.find((head) =>
    heads.some(({ size, root }) => size === head.size && !equalHashes(root, head.root)),
  );
  if (fork !== undefined) {
    const problem = `the log signed two heads of ${fork.size} statements: it shows other people another log`;
    return { kind: 'forked', problem };
  }
  const used = proofs.filter(({ old }) => old === one.size || old === other.size);
  for (const { old, hashes, checkpoint } of used) {
    if (!isConsistent(old === one.size ? one : other, checkpoint, hashes))
      return {
        kind: 'changed',
        problem: `the log does not begin with its earlier ${old} statements: it was changed`,
      };
  }
  const reached = (size: number) => [
    size,
    ...used.flatMap(({ old, checkpoint }) => (old === size ? checkpoint.size : [])),
  ];
  if (reached(one.size).some((size) => reached(other.size).includes(size)))
    return { kind: 'one_log', newest: largestOf([one, other, ...used.map(({ checkpoint }) => checkpoint)]) };
  const sizes = [one.size, other.size].sort((low, high) => low - high).join(' and of ');
  return {
    kind: 'not_shown',
    problem: `nothing shows that the heads of ${sizes} statements are of one log: fetch a proof of consistency`,
  };
}

function largestOf(heads: readonly Checkpoint[]): Checkpoint {
  return heads.reduce((most, head) => (head.size > most.size ? head : most));
}
