/** The parts that make a submission a step of a session: two inputs and two outputs. The service adds them. */
import {
  hasSessions,
  type Language,
  LIBRARIES_FILE,
  largeOutputsBytesMax,
  type RequestedSpec,
  SESSION_FILES,
  type Session,
  type SessionStep,
  type StoredLargeOutputs,
  type SubmittedFile,
} from '@vouchbox/protocol';
import { ServiceError } from '../../ground/service-error.ts';
import { sessionModule } from '../../sandbox/cell/session-module.ts';
import { quoted, refusal } from './refuse.ts';

/** The paths of the service's own inputs, each with the words that refuse a file there. */
const OWN_PLACES = [
  [SESSION_FILES.inputs, "is the place of the service's own files of a session"],
  [LIBRARIES_FILE, 'is the place of the libraries'],
] as const;

/** Refuses a submission with a file at or below one of these paths. `at` is the pointer of the program that has these files. */
export function checkOwnPlaces(files: readonly Pick<SubmittedFile, 'path'>[], at: string): void {
  for (const [own, problem] of OWN_PLACES) {
    const index = files.findIndex(({ path }) => `${path}/`.startsWith(`${own}/`));
    if (index >= 0) throw refusal('invalid_request', `${at}/files/${index}/path`, `${problem}: ${own}`);
  }
}

/** Refuses a build or a pair that also has `what`: a step of a session, or libraries. */
export function checkIsAlone(others: { readonly interactor: unknown; readonly build: unknown }, what: string): void {
  const odd = (['interactor', 'build'] as const).find((name) => others[name] !== undefined);
  if (odd !== undefined) throw refusal('invalid_request', `/${odd}`, `must be left out of ${what}`);
}

interface Stepped extends Pick<RequestedSpec, 'outputs' | 'language'> {
  readonly files: readonly SubmittedFile[];
  readonly large_outputs?: StoredLargeOutputs;
}

/** The program as a step of the session. */
export function asStep<Program extends Stepped>(program: Program, session: SessionStep) {
  const { language, files, outputs, large_outputs: large } = program;
  if (!hasSessions(language))
    throw refusal('invalid_request', '/session', `must be left out: ${language} is compiled, and has no sessions`);
  checkOwnOutputs([...outputs, ...(large?.paths ?? []), ...(large?.stdout ? [large.stdout] : [])]);
  const { after } = session;
  const state =
    after === null ? [] : [{ path: SESSION_FILES.state, from: { job_id: after, path: SESSION_FILES.newState } }];
  return {
    ...program,
    session,
    files: [...files, sessionModule(language), ...state],
    outputs: [...outputs, SESSION_FILES.kept],
    large_outputs: {
      stdout: null,
      ...large,
      max_bytes: largeOutputsBytesMax,
      paths: [...(large?.paths ?? []), SESSION_FILES.newState],
    },
  };
}

function checkOwnOutputs(outputs: readonly string[]): void {
  const own = outputs.find((path) => `${path}/`.startsWith(`${SESSION_FILES.outputs}/`));
  if (own !== undefined)
    throw refusal('invalid_request', '/session', `keeps outputs of its own, and ${quoted(own)} is named like one`);
}

/** Says at which step the session is, so that the caller can continue from there. */
export function sessionElsewhere(found: Session | null, language: Language): ServiceError {
  return new ServiceError('session_conflict', `The submission is no next step: ${whereItIs(found, language)}.`);
}

function whereItIs(found: Session | null, language: Language): string {
  if (found === null) return 'the principal has no session of this name: "after" must be null';
  if (found.running_job_id !== null) return `step ${found.running_job_id} still runs`;
  if (found.language !== language) return `the session is in the language ${found.language}`;
  return found.last_job_id === null
    ? 'the session has no state: "after" must be null'
    : `the last step is ${found.last_job_id}`;
}
