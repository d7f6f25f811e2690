/** The parts that a link may show in addition to those that every link shows. */
import { SESSION_FILES } from './session-files.ts';
import type { StoredSpec } from './submission.ts';

/** Each part with the members of a submission that it shows. `files` stands for the files that the program left. */
export const LINK_PARTS = {
  code: ['code'],
  input: ['args', 'env', 'stdin', 'named_stdin', 'files'],
  files: [],
} as const satisfies Record<string, readonly (keyof StoredSpec)[]>;
export type LinkPart = keyof typeof LINK_PARTS;
export const LINK_PART_NAMES = Object.keys(LINK_PARTS) as LinkPart[];

/** Whether a link may show this file, an input or an output of the program. A link never shows a session's contents. */
export function isForLinks({ path }: { readonly path: string }): boolean {
  return [SESSION_FILES.inputs, SESSION_FILES.outputs].every((own) => !path.startsWith(`${own}/`));
}
