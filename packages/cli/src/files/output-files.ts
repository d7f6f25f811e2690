/** Writes the files that a job returned, each to its requested place. Only requested files are written. */
import { type FileHandle, open, realpath, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Artifact } from '@vouchbox/protocol';
import { directoryOfPattern, pathProblem } from '@vouchbox/protocol/vocabulary';
import { makeDirectories } from '@vouchbox/server/make-directories';
import { CommandFailure } from '../failures/command-failure.ts';

/**
 * A requested output, and the file on this host that it is written to. For a pattern, the path ends with `/**` and the
 * target is a directory.
 */
export interface WantedOutput {
  readonly path: string;
  readonly target: string;
}

/** A file that was written on this host, and its path in the job. */
export interface WrittenOutput {
  /** The path of the output in the job, below `output/`. */
  readonly path: string;
  /** The path on this host. */
  readonly file: string;
  readonly size_bytes: number;
  readonly sha256: string;
}

export interface WrittenOutputs {
  readonly written: readonly WrittenOutput[];
  /** The requested outputs that did not come back. */
  readonly missing: readonly (WantedOutput & { readonly isPattern: boolean })[];
}

/** Writes each requested output that came back. Nothing else is written. */
export async function writeOutputs(
  wanted: readonly WantedOutput[],
  artifacts: readonly Artifact[],
): Promise<WrittenOutputs> {
  const written: WrittenOutput[] = [];
  const missing: (WantedOutput & { isPattern: boolean })[] = [];
  for (const output of wanted) {
    const directory = directoryOfPattern(output.path);
    const files = directory === null ? named(output, artifacts) : below({ directory, output, artifacts, wanted });
    if (files.length === 0) missing.push({ ...output, isPattern: directory !== null });
    for (const { target, artifact } of files) {
      await writeTarget(target, Buffer.from(artifact.content_base64, 'base64'));
      const { path, size_bytes, sha256 } = artifact;
      written.push({ path, file: target, size_bytes, sha256 });
    }
  }
  return { written, missing };
}

/**
 * Writes a whole file. If that fails, the written part is removed again.
 * @throws what the content throws, and CommandFailure if this host refuses the file, for example because its disk is full
 */
export async function writeTarget(target: string, content: Parameters<FileHandle['writeFile']>[0]): Promise<void> {
  try {
    makeDirectories(dirname(target));
    await using file = await open(target, 'w');
    try {
      await file.writeFile(content);
    } catch (error) {
      // Only a plain file is removed; a device never is.
      if ((await file.stat()).isFile()) await rm(await realpath(target), { force: true });
      throw error;
    }
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new CommandFailure(`${target} cannot be written: ${error.message}`, { cause: error });
  }
}

interface File {
  readonly target: string;
  readonly artifact: Artifact;
}

function named({ path, target }: WantedOutput, artifacts: readonly Artifact[]): File[] {
  return artifacts.filter((artifact) => artifact.path === path).map((artifact) => ({ target, artifact }));
}

interface Below {
  readonly directory: string;
  readonly output: WantedOutput;
  readonly artifacts: readonly Artifact[];
  readonly wanted: readonly WantedOutput[];
}

/**
 * All files below a directory, except those that were requested by name. A file whose path could lead elsewhere is
 * skipped.
 */
function below({ directory, output, artifacts, wanted }: Below): File[] {
  return artifacts
    .filter(({ path }) => path.startsWith(`${directory}/`) && pathProblem(path, 'output') === null)
    .filter(({ path }) => !wanted.some((other) => other.path === path))
    .map((artifact) => ({ target: `${output.target}${artifact.path.slice(directory.length)}`, artifact }));
}
