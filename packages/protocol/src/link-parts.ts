/** What a link may show beside what every link does. */
import type { StoredSpec } from './submission.ts';

/** Each with what it shows of a submission; `files` are those that the program left. */
export const LINK_PARTS = {
  code: ['code'],
  input: ['args', 'env', 'stdin', 'named_stdin', 'files'],
  files: [],
} as const satisfies Record<string, readonly (keyof StoredSpec)[]>;
export type LinkPart = keyof typeof LINK_PARTS;
export const LINK_PART_NAMES = Object.keys(LINK_PARTS) as LinkPart[];
