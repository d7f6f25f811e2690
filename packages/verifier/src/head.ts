/**
 * `service-verify head`: compares two heads that one log signed. Two heads of one size with different roots prove that the log
 * showed two people two different logs.
 */
import type { Checkpoint } from '@vouchbox/evidence';
import { EXIT } from './exit-code.ts';
import { readLogFile, readNoteKey } from './log-files.ts';
import { relationOf, signedHead, signedProofs } from './log-heads.ts';
import { failed, passed, type Report, refusal } from './report.ts';

export interface HeadOptions {
  readonly logKey: string;
  readonly logConsistency?: readonly string[];
}

/** Compares the heads in two files. Each file is a checkpoint, or a proof that contains a checkpoint. */
export async function compareHeads(paths: readonly [string, string], options: HeadOptions): Promise<Report> {
  const { logConsistency = [] } = options;
  const log = readNoteKey(options.logKey, 'note');
  const heads: Checkpoint[] = [];
  for (const path of paths) {
    const head = await signedHead(readLogFile(path), log);
    if (typeof head === 'string') return refusal(EXIT.signature, [failed('log_head', `${path}: ${head}`)]);
    heads.push(head);
  }
  const proofs = await signedProofs(logConsistency.map(readLogFile), log);
  if ('problem' in proofs) return refusal(EXIT.signature, [failed('log_consistency', proofs.problem)]);
  const [one, other] = heads as [Checkpoint, Checkpoint];
  const signed = [one, other].map(({ size, origin }) => passed('log_head', `${size} statements, signed by ${origin}`));
  const relation = relationOf([one, other], proofs.proofs);
  if (relation.kind !== 'one_log') {
    const check = failed('log_consistency', `${WORD[relation.kind]}: ${relation.problem}`);
    return refusal(relation.kind === 'not_shown' ? EXIT.policy : EXIT.record, [...signed, check]);
  }
  const check = passed('log_consistency', wordOf(one.size, other.size));
  return { exitCode: EXIT.good, checks: [...signed, check], facts: { log: log.name }, notice: NOTICE };
}

const WORD = { forked: 'FORKED', changed: 'CHANGED', not_shown: 'NOT SHOWN' } as const;

const NOTICE = 'This shows that both heads belong to one log. Another person may still have been shown another log.';

function wordOf(one: number, other: number): string {
  if (one === other) return `SAME: ${one} statements`;
  const [smaller, larger] = one < other ? ['first', 'second'] : ['second', 'first'];
  return `GROWN: the tree of the ${larger} begins with that of the ${smaller}`;
}
