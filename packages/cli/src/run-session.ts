/** `vouchbox run --session`: runs a program as the next step of a session, and reports what the session keeps. */
import type { JobSubmission, ProgramSession, StepOutcome } from '@vouchbox/client';
import type { EventData, FoldedResult, JobEvent } from '@vouchbox/protocol';
import { SESSION_FILES } from '@vouchbox/protocol/vocabulary';

/** The most lost values and files that are named. Any more are only counted. */
const namedMax = 10;

/** The submission as the next step of the session. */
export function asStep<Submission extends JobSubmission>(submission: Submission, session: ProgramSession | null) {
  return session === null ? submission : { ...submission, session: { name: session.name, after: session.lastJob } };
}

const OWN: readonly (string | undefined)[] = [SESSION_FILES.kept, SESSION_FILES.newState];

const isNotOwn = ({ path }: { readonly path?: string }) => !OWN.includes(path);

/** Whether an event reports what happened to the files that belong to the session. */
export function isOfSession({ kind, data }: JobEvent): boolean {
  return kind === 'violation' && !isNotOwn(data as EventData<'violation'>);
}

/** Removes the session's own files from a step's result. Returns the result, and the outcome for the session. */
export async function settled(result: FoldedResult, session: ProgramSession) {
  const files = result.artifacts.map(
    ({ path, content_base64 }) => [path, Uint8Array.fromBase64(content_base64)] as const,
  );
  const [artifacts, violations] = [result.artifacts.filter(isNotOwn), result.violations.filter(isNotOwn)];
  const large_outputs = (result.large_outputs ?? []).filter(isNotOwn);
  const outcome = await session.settle({ large_outputs: [], ...result, files: new Map(files) });
  return { result: { ...result, artifacts, violations, large_outputs }, outcome };
}

/** The messages that accompany the output. They say what the session did not keep, or that the session did not move on. */
export function sessionRemarks({ name, lastJob }: ProgramSession, { moved, kept, problem }: StepOutcome): string[] {
  if (!moved) {
    const place = lastJob === null ? 'at its beginning' : `at ${lastJob}`;
    return [`session ${name} stays ${place}: ${problem ?? 'no state came back from this step'}`];
  }
  if (kept === null) return [`session ${name} moved on, but the program did not say what it kept`];
  const more = kept.more_not_kept + Math.max(0, kept.not_kept.length - namedMax);
  return [
    ...kept.not_kept.slice(0, namedMax).map((one) => `not kept: ${one.kind} ${one.name}: ${one.reason}`),
    ...(more > 0 ? [`not kept: ${more} more`] : []),
  ];
}
