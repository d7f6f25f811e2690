/**
 * The files that a grading's programs and tests name: uploads, and outputs from jobs that have ended. Each file is looked up
 * once, when the grading is accepted, and is kept until the grading has ended.
 */
import { filesMax, pathsProblem, type StoredFile, type SubmittedFile } from '@vouchbox/protocol';
import { CHECKED_FILES, isCompiled } from '@vouchbox/protocol/grading-steps';
import type { Caller } from '../../ground/caller.ts';
import { blobsNamed } from '../../store/blobs/blobs-named.ts';
import type { Store } from '../../store/store.ts';
import { type CopyOptions, copyOutputs, resolvedFiles } from '../admit/named-inputs.ts';
import { refusal } from '../admit/refuse.ts';
import { checkProductPlace } from '../admit/submission.ts';
import {
  gradersOf,
  inPart,
  type ParsedGrading,
  type StoredGrader,
  type StoredProgram,
  withGraders,
} from './grading-body.ts';

export interface FilesOptions extends CopyOptions {
  readonly store: CopyOptions['store'] & Pick<Store, 'inputs'>;
}

/** A grading with the files that its jobs get, and the names under which the blobs of those files are found. */
export interface WithFiles {
  readonly parsed: ParsedGrading;
  readonly names: readonly string[];
}

/**
 * @throws ServiceError `insufficient_scope`, `blob_unavailable`, `input_unavailable`, `payload_too_large`; `invalid_request` if
 * a job would have two files with the same path
 */
export async function withFiles(caller: Caller, parsed: ParsedGrading, options: FilesOptions): Promise<WithFiles> {
  checkPaths(parsed);
  const names = new Set<string>();
  const stored = async (pointer: string, files: readonly SubmittedFile[]): Promise<readonly StoredFile[]> => {
    if (files.length === 0) return [];
    const found = await inPart(pointer, () => resolvedFiles({ caller, key: null, files }, options));
    await copyOutputs(caller.tenant, found, options);
    const all = found.map(({ file }) => file);
    for (const name of blobsNamed(all)) names.add(name);
    return all;
  };
  const part = async <Part extends { readonly files: readonly SubmittedFile[] }>(pointer: string, content: Part) => ({
    ...content,
    files: await stored(pointer, content.files),
  });
  const graders = new Map<StoredGrader, StoredGrader>();
  for (const { pointer, grader } of gradersOf(parsed.common)) graders.set(grader, await part(pointer, grader));
  const common = withGraders(parsed.common, (grader) => graders.get(grader) as StoredGrader);
  const programs: ParsedGrading['programs'][number][] = [];
  for (const [at, { state, content }] of parsed.programs.entries())
    programs.push({ state, content: await part(`/programs/${at}`, content) });
  const tests: ParsedGrading['tests'][number][] = [];
  for (const [at, { head, content }] of parsed.tests.entries())
    tests.push({ head, content: await part(`/tests/${at}`, content) });
  return { parsed: { common, programs, tests }, names: [...names] };
}

/**
 * Checks the paths of each run's files, which come from its program and its test. A checker or an interactor also has files for
 * judging and, beside them, its built product.
 */
function checkPaths({ common, programs, tests }: ParsedGrading): void {
  const isBuilt = (program: StoredProgram) => common.plan !== undefined && isCompiled(program);
  for (const { pointer, grader } of gradersOf(common)) {
    if (isBuilt(grader)) checkProductPlace(grader.files, pointer);
    if (pointer.startsWith('/validators')) continue;
    const clash = pathsProblem([...Object.values(CHECKED_FILES), ...grader.files.map(({ path }) => path)], 'input');
    if (clash !== null) throw refusal('invalid_request', `${pointer}/files`, `and what it judges by: ${clash.problem}`);
  }
  if (programs.some(({ content }) => isBuilt(content)))
    for (const [at, { content }] of tests.entries()) checkProductPlace(content.files, `/tests/${at}`);
  for (const [at, { content: program }] of programs.entries()) {
    if (isBuilt(program)) checkProductPlace(program.files, `/programs/${at}`);
    if (program.files.length === 0) continue;
    for (const { head, content } of tests) {
      const paths = [...program.files, ...content.files].map(({ path }) => path);
      const pointer = `/programs/${at}/files`;
      const wrong = pathsProblem(paths, 'input');
      if (wrong !== null) throw refusal('invalid_request', pointer, `and those of a test: ${wrong.problem}`);
      if (paths.length > filesMax)
        throw refusal('invalid_request', pointer, `and those of ${head.name} are more than ${filesMax}`);
    }
  }
}
