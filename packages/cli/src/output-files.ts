/** Writes the files that a job gave back to where the person asked for them, and nothing else anywhere. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Artifact } from '@svc/protocol';
import type { WantedOutput } from './submission-options.ts';

/** Writes each wanted output that came back; returns those that did not. A path is taken from the wish alone. */
export async function writeOutputs(
  wanted: readonly WantedOutput[],
  artifacts: readonly Artifact[],
): Promise<readonly WantedOutput[]> {
  const missing: WantedOutput[] = [];
  for (const output of wanted) {
    const artifact = artifacts.find(({ path }) => path === output.path);
    if (artifact === undefined) {
      missing.push(output);
      continue;
    }
    await mkdir(dirname(output.target), { recursive: true });
    await writeFile(output.target, Buffer.from(artifact.content_base64, 'base64'));
  }
  return missing;
}
