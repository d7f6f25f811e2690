/**
 * The specification that a queued job runs with. A row from this version holds all of it. A row that waited during an upgrade
 * holds only the members that the older version kept. The other members get their defaults here; the stored row stays as it is.
 */
import type { RequestedSpec } from '@vouchbox/protocol';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol/vocabulary';
import type { JobRow } from '../records/rows.ts';

/** The members of a row that state the program. */
export type ProgramRow = Pick<JobRow, 'language' | 'runtime' | 'requested_spec'>;

/** The whole specification of a row. @throws Error if the row has no program, because it is damaged */
export function wholeSpec({ language, runtime, requested_spec }: ProgramRow): RequestedSpec {
  const { code, requirements, limits } = requested_spec;
  // Every version keeps the program, so a row without it is damaged, and nothing else may run in its place.
  if (code === undefined) throw new Error('the row of a queued job has no program');
  const defaults = { stdin: null, args: [], env: {}, files: [], outputs: [] };
  return {
    ...defaults,
    ...requested_spec,
    language,
    runtime,
    code,
    requirements: requirements ?? { minimum_isolation: 'none' },
    limits: { ...LIMIT_DEFAULTS, ...limits },
  };
}
