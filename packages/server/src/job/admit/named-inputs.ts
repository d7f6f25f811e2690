/**
 * Finds the stored bytes that a submission's files and standard input name: the tenant's uploads, or outputs of the
 * tenant's ended jobs. Each is looked up once, and the stored job names the digest. Spec § Job submission, § Limits.
 */
import {
  LIBRARIES_FILE,
  type NamedStdin,
  namedFilesTotalBytesMax,
  type Product,
  SESSION_FILES,
  STDIN,
  type StoredFile,
  type StoredProduct,
  type SubmittedFile,
} from '@vouchbox/protocol';
import { type Caller, requireScope } from '../../ground/caller.ts';
import { ServiceError } from '../../ground/service-error.ts';
import { digestOf, isOutput } from '../../store/blobs/blobs-named.ts';
import type { Input, NamingFile } from '../../store/jobs/inputs.ts';
import type { Store } from '../../store/store.ts';
import { ArtifactGone, type ArtifactSources, artifactPieces, type OutputCopies } from '../artifact-content.ts';
import { refusal } from './refuse.ts';
import type { ParsedProgram } from './submission.ts';

export interface Submitted {
  readonly caller: Caller;
  /** Null if the client sent none. */
  readonly key: string | null;
  readonly files: readonly SubmittedFile[];
  /** The pointer of the program that has these files. The default is the pointer of the body. */
  readonly at?: string;
  /** The pointer of a file, if it does not follow from the file's place in the program. */
  readonly pointer?: string;
}

/** A file, and the number of stored bytes that it names. */
export interface Resolved {
  readonly file: StoredFile;
  readonly size_bytes: number;
}

/**
 * Every file, with the stored bytes that it names.
 *
 * @throws ServiceError `insufficient_scope`, `blob_unavailable`, `input_unavailable`, `payload_too_large`
 */
export async function resolvedFiles(
  { caller, key, files, at = '', pointer }: Submitted,
  { store }: { readonly store: Pick<Store, 'inputs'> },
): Promise<readonly Resolved[]> {
  const naming = files.filter(isNaming);
  if (naming.length === 0) return files.map((file) => resolved(file, undefined));
  if (naming.some((file) => 'from' in file)) requireScope(caller, 'jobs:read', ', which naming an output needs');
  const mayReadJobs = caller.scopes.includes('jobs:read');
  const found = await store.inputs({ tenant: caller.tenant, files: naming, key, mayReadJobs });
  const inputs = new Map(naming.map((file, index) => [file, found[index] ?? null]));
  const all = files.map((file, index) => {
    const input = inputs.get(file as NamingFile);
    if (input === null) throw unavailable(file as NamingFile, pointer ?? `${at}/files/${index}`, mayReadJobs);
    return resolved(file, input);
  });
  const total = all.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  if (total <= namedFilesTotalBytesMax) return all;
  const problem = `have ${total} bytes together; at most ${namedFilesTotalBytesMax} are allowed`;
  throw refusal('payload_too_large', `${at}/files`, problem);
}

/** The bytes for standard input, as a file with the path `STDIN`. @throws ServiceError as `resolvedFiles` does */
export async function resolvedStdin(
  { stdin, ...submitted }: Pick<Submitted, 'caller' | 'key'> & { readonly stdin: NamedStdin },
  options: { readonly store: Pick<Store, 'inputs'> },
): Promise<Resolved> {
  const files = [{ path: STDIN, ...stdin }];
  const [found] = await resolvedFiles({ ...submitted, files, pointer: '/stdin' }, options);
  return found as Resolved;
}

/**
 * The product that a program starts.
 *
 * @throws ServiceError `insufficient_scope`, `input_unavailable`
 */
export async function resolvedProduct(
  { job_id }: Product,
  { caller, key, program, at = '' }: Omit<Submitted, 'files'> & { readonly program: Omit<ParsedProgram, 'product'> },
  { store }: { readonly store: Pick<Store, 'productOf'> },
): Promise<StoredProduct> {
  requireScope(caller, 'jobs:read', ', which naming a product needs');
  const { language, runtime, code } = program;
  const built = await store.productOf({ tenant: caller.tenant, job_id, key, language, runtime, code });
  if (built !== null) return built.product;
  const problem = 'names no successful build of this program, in this language and runtime';
  throw refusal('input_unavailable', `${at}/product/job_id`, problem);
}

function isNaming(file: SubmittedFile): file is NamingFile {
  return !('content_base64' in file);
}

function resolved(file: SubmittedFile, input: Input | undefined): Resolved {
  const { path } = file;
  if (!isNaming(file)) {
    const { content_base64 } = file;
    return { file: { path, content_base64 }, size_bytes: Buffer.byteLength(content_base64, 'base64') };
  }
  if (input === undefined) throw new Error('a named blob or output was not looked up');
  const { blob, from, size_bytes } = input;
  return { file: { path, ...(from !== null && { from }), blob }, size_bytes };
}

/** The refusal of an unavailable file. It does not reveal whether other tenants have the blob, or whether it ever existed. */
function unavailable(file: NamingFile, at: string, mayReadJobs: boolean): ServiceError {
  // The service added the session's state to the files: it does not come from the submission.
  if (file.path === SESSION_FILES.state)
    return refusal(
      'input_unavailable',
      '/session/after',
      'names no job whose state is kept; GET /v1/sessions/NAME says where the session stands',
    );
  const place = file.path === LIBRARIES_FILE ? '/libraries' : at;
  const pointer = `${place}/${'from' in file ? 'from' : 'blob'}`;
  if ('from' in file) return refusal('input_unavailable', pointer, 'names no output of an ended job of the tenant');
  const also = mayReadJobs ? ' or an output' : '; an output can be named with the scope "jobs:read"';
  return refusal('blob_unavailable', pointer, `is not a blob of the tenant${also}`);
}

/** The refusal for a blob that was removed after the check and before the transaction that stores the job. */
export function blobUnavailable(): ServiceError {
  return new ServiceError('blob_unavailable', 'A blob that a file names is not there any more.');
}

export interface CopyOptions extends ArtifactSources {
  readonly blobs: OutputCopies;
}

/**
 * Copies each output that the files name once, so that the job has the bytes until it ends.
 *
 * @throws ServiceError `input_unavailable` if an output was removed just now; otherwise as `Blobs.copy` does
 */
export async function copyOutputs(tenant: string, files: readonly Resolved[], options: CopyOptions): Promise<void> {
  for (const { file, size_bytes } of files) {
    if (!isOutput(file)) continue;
    const { job_id, path } = file.from;
    const sha256 = digestOf(file);
    const chunks = artifactPieces(options, { tenant, job_id }, { path, size_bytes, sha256 });
    try {
      await options.blobs.copy(tenant, { sha256, bytesMax: size_bytes, chunks });
    } catch (error) {
      if (!(error instanceof ArtifactGone)) throw error;
      throw new ServiceError('input_unavailable', 'An output that a file names is not there any more.');
    }
  }
}
