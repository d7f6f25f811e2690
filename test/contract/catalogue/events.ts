/** Spec § Events, rule by rule. */
import type { Promised } from './promise.ts';

export const EVENTS: readonly Promised[] = [
  ['Events 1: ordered by sequence', 'contract/replay › is numbered from 1 without gaps'],
  [
    'Events 2: kinds, and clients keep what they do not know',
    'contract/replay › has the kinds of a job’s life in their order',
    'client/follow › hands on a kind and members that it does not know',
  ],
  [
    'Events 4: what each kind says',
    'contract/replay › tells in its events what was asked, what started and how it ended',
  ],
  ['Events 5: a record is at most 16 KiB', 'contract/output › a record is at most 16 KiB'],
  [
    'Events 6: truncation with observed counts',
    'contract/output › are truncated, and the history and the receipt say by how much',
  ],
  [
    'Events 7: the hash chain',
    'contract/replay › is a chain that anyone can recompute',
    'evidence/chain › equals the published vectors',
    'contract/upgrade › events of v0.1 are served with hash version 0',
  ],
  [
    'Events 8: an auditor recomputes every link',
    'interoperability/auditor › recomputes the chains and receipts of 1,000 jobs',
    'verifier/chain › service-verify chain',
  ],
  ['Events 9: finished, and the stream ends', 'contract/stream-end › wherever the end falls'],
];
