/** Reads the verdict of a grading from the result of the job that judged. */
import type { FoldedResult } from '@vouchbox/protocol';
import { VERDICT_FILE } from '@vouchbox/protocol/grading';
import { sha256Hex } from '#sha256';
import { decodeBase64 } from './base64.ts';

/** The verdict's bytes; null if they do not have the digest that the grading names. */
export function verdictBytes(
  { artifacts }: Pick<FoldedResult, 'artifacts'>,
  verdict_sha256: string,
): Uint8Array<ArrayBuffer> | null {
  const file = artifacts.find(({ path }) => path === VERDICT_FILE);
  const bytes = file === undefined ? null : decodeBase64(file.content_base64);
  return bytes !== null && sha256Hex(bytes) === verdict_sha256 ? bytes : null;
}
