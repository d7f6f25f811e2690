/**
 * The thread that reads archives and makes the checks, so that the page stays responsive while a long history is checked. The
 * thread loads the same script as the page, and `main.ts` finds out whether the script runs in the page or in the thread.
 */
import { type ExaminationOptions, examineExport } from '@vouchbox/verifier';
import { IntakeProblem } from '../intake/bounds.ts';
import { type DroppedFile, type Files, type Intake, intakeOf } from '../intake/export-files.ts';
import { type Findings, findingsOf } from './findings.ts';
import { graphFindings } from './graph-findings.ts';

/** The requests from the page. Only the files of the latest `take` are examined. */
export type CheckRequest =
  | { readonly kind: 'take'; readonly dropped: readonly DroppedFile[] }
  /** Files that already have the names of an export. */
  | { readonly kind: 'files'; readonly files: Files }
  | { readonly kind: 'examine'; readonly options: ExaminationOptions };

/** The answers: one for each request, in the same order. */
export type CheckAnswer =
  | { readonly kind: 'files'; readonly files: Files }
  | { readonly kind: 'findings'; readonly findings: Findings }
  /** `text` is for a person to read; null if only a bug can be the reason. */
  | { readonly kind: 'problem'; readonly text: string | null };

/** Answers requests as long as the thread lives. */
export function serveChecks(): void {
  let taken: Intake = { files: new Map(), graph: null };
  let done = Promise.resolve();
  const answer = async (request: CheckRequest): Promise<CheckAnswer> => {
    if (request.kind === 'examine') {
      const graph = await graphFindings(taken.graph, request.options);
      return { kind: 'findings', findings: findingsOf(await examineExport(taken.files, request.options), graph) };
    }
    taken = request.kind === 'take' ? await intakeOf(request.dropped) : { files: request.files, graph: null };
    return { kind: 'files', files: taken.files };
  };
  const post = (message: CheckAnswer) => globalThis.postMessage(message);
  globalThis.addEventListener('message', ({ data }: MessageEvent<CheckRequest>) => {
    done = done.then(() => answer(data).then(post, (error: unknown) => post(problemOf(error))));
  });
}

function problemOf(error: unknown): CheckAnswer {
  return { kind: 'problem', text: error instanceof IntakeProblem ? error.message : null };
}
