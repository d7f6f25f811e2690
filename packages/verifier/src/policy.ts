/**
 * A policy compares the signed receipt with what a caller demands of the program, its outcome and the observed protections. A
 * good attestation alone is not yet a good result.
 */
import type { ExecutionPredicate } from '@vouchbox/evidence';
import { type Beside, nothingBeside } from './beside.ts';
import { parseDuration } from './duration.ts';
import { type Check, checked } from './report.ts';
import { parseRequirement, type Requirement } from './requirement.ts';
import { millisecondsOf } from './signed-statement.ts';
import { UsageError } from './usage-error.ts';

/** A policy as given on the command line. */
export interface PolicyOptions {
  readonly require: readonly string[];
  readonly codeSha256?: string;
  readonly maxAge?: string;
}

/** Checks a signed predicate, its log entry and its canary at the moment `now`, in milliseconds since the epoch. */
export type Policy = (predicate: ExecutionPredicate, now: number, beside?: Beside) => Check[];

/** How far ahead a signer's clock may be. */
const CLOCK_SKEW_MILLISECONDS = 30_000;

/** Reads a policy; null if nothing is demanded. A malformed one causes a `UsageError`. */
export function parsePolicy({ require, codeSha256, maxAge }: PolicyOptions): Policy | null {
  const requirements = require.map(parseRequirement);
  if (codeSha256 !== undefined) requirements.push(codeRequirement(codeSha256));
  const ageMax = maxAge === undefined ? null : parseDuration(maxAge);
  if (requirements.length === 0 && ageMax === null) return null;
  return (predicate, now, beside = nothingBeside) => [
    ...requirements.map((requirement) => requirementCheck(requirement, predicate, beside)),
    ...(ageMax === null ? [] : [ageCheck(predicate.finishedAt, { ageMax, now })]),
  ];
}

function requirementCheck({ text, judge }: Requirement, predicate: ExecutionPredicate, beside: Beside): Check {
  const { isMet, found } = judge(predicate, beside);
  return checked(text, isMet ? null : `it is ${found}`, `it is ${found}`);
}

function codeRequirement(wanted: string): Requirement {
  if (!/^[0-9a-f]{64}$/.test(wanted)) throw new UsageError('--code-sha256 takes 64 lower-case hex digits');
  return {
    text: 'code_sha256',
    judge: ({ receipt }) => {
      const found = Object.hasOwn(receipt, 'code_sha256') ? receipt['code_sha256'] : null;
      return { isMet: found === wanted, found: typeof found === 'string' ? found : 'not stated' };
    },
  };
}

/** Compares the age of a result with the greatest allowed age; `finishedAt` is a time on the signer's clock. */
function ageCheck(finishedAt: string, { ageMax, now }: { readonly ageMax: number; readonly now: number }): Check {
  const age = now - millisecondsOf(finishedAt);
  return checked('max_age', ageProblem(age, ageMax), `it finished ${secondsOf(age)} s ago`);
}

function ageProblem(age: number, ageMax: number): string | null {
  if (Number.isNaN(age)) return 'its time of finish is malformed';
  if (age < -CLOCK_SKEW_MILLISECONDS) return `it finished ${secondsOf(-age)} s in the future`;
  return age > ageMax ? `it finished ${secondsOf(age)} s ago` : null;
}

function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
