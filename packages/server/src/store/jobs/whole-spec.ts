/**
 * What a queued job is run with. A row of this version holds all of it; one that waited while the service was upgraded
 * holds what its version kept, and the rest is what a submission without it gets. The row itself stays partial.
 */
import type { RequestedSpec } from '@vouchbox/protocol';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol/vocabulary';
import type { JobRow } from '../records.ts';

/** What of a row says which program it is. */
export type ProgramRow = Pick<JobRow, 'language' | 'runtime' | 'requested_spec'>;

/** @throws Error if the row has no program: it is damaged. */
export function wholeSpec({ language, runtime, requested_spec }: ProgramRow): RequestedSpec {
  const { code, stdin = null, args = [], env = {}, files = [], outputs = [], requirements, limits } = requested_spec;
  // Every version keeps the program: a row without it is damaged, and nothing else may run in its name.
  if (code === undefined) throw new Error('the row of a queued job has no program');
  return {
    language,
    code,
    stdin,
    args,
    env,
    files,
    outputs,
    runtime,
    requirements: requirements ?? { minimum_isolation: 'none' },
    limits: { ...LIMIT_DEFAULTS, ...limits },
  };
}
