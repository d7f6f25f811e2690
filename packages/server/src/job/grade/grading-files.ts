/**
 * The files that programs and tests of a grading name: uploads, and outputs of jobs that have ended. Each is looked up once,
 * when the grading is accepted, and kept until it has ended.
 */
import { filesMax, pathsProblem, type StoredFile, type SubmittedFile } from '@vouchbox/protocol';
import { CHECKED_FILES } from '@vouchbox/protocol/grading-steps';
import type { Caller } from '../../ground/caller.ts';
import { blobsNamed } from '../../store/blobs/blobs-named.ts';
import type { Store } from '../../store/store.ts';
import { type CopyOptions, copyOutputs, resolvedFiles } from '../admit/named-inputs.ts';
import { refusal } from '../admit/refuse.ts';
import { gradersOf, inPart, type ParsedGrading, type StoredGrader, withGraders } from './grading-body.ts';

export interface FilesOptions extends CopyOptions {
  readonly store: CopyOptions['store'] & Pick<Store, 'inputs'>;
}

/** A grading whose files are those that its jobs are given, and the names of the blobs that they are found by. */
export interface WithFiles {
  readonly parsed: ParsedGrading;
  readonly names: readonly string[];
}

/**
 * @throws ServiceError `insufficient_scope`, `blob_unavailable`, `input_unavailable`, `payload_too_large`; `invalid_request`
 * where a program and a test have files of one path
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

/** A job has the files of its program and those of its test, and that of a checker those that it checks. */
function checkPaths({ common: { checker }, programs, tests }: ParsedGrading): void {
  const given = [...Object.values(CHECKED_FILES), ...(checker?.files ?? []).map(({ path }) => path)];
  const clash = checker === null ? null : pathsProblem(given, 'input');
  if (clash !== null) throw refusal('invalid_request', '/checker/files', `and what a checker reads: ${clash.problem}`);
  for (const [at, { content: program }] of programs.entries()) {
    if (program.files.length === 0) continue;
    for (const { head, content } of tests) {
      const paths = [...program.files, ...content.files].map(({ path }) => path);
      const pointer = `/programs/${at}/files`;
      const wrong = pathsProblem(paths, 'input');
      if (wrong !== null) throw refusal('invalid_request', pointer, `and those of a test: ${wrong.problem}`);
      if (paths.length > filesMax)
        throw refusal('invalid_request', pointer, `are with those of ${head.name} more than ${filesMax}`);
    }
  }
}
