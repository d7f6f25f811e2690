/** Makes a submission's body from the caller's program and options. Spec § Job submission. */
import type {
  InputFile,
  IsolationClass,
  JobSubmission,
  Libraries,
  LimitsInput,
  OutputFile,
  UploadedFile,
} from './contract-types.ts';
import { definedEntries } from './defined-entries.ts';

/** The content of a file. Text is sent as UTF-8. */
export type FileContent = string | Uint8Array<ArrayBuffer> | Blob;

/** Bytes that the service already has: the result of `upload`, or an ended job's output. */
export type NamedContent = Pick<UploadedFile, 'blob'> | Pick<OutputFile, 'from'>;

/** A program's options besides its code. If a whole submission is given, omitted options keep the submission's values. */
export interface ProgramOptions {
  /** `python` (the default), `node`, `typescript`, `bash`, or the language of a runtime pack. */
  readonly language?: string | undefined;
  /**
   * The content of each input file; `data.csv` is `input/data.csv` in the cell. At most 32 files of 2 MiB each, 4 MiB in total. A
   * larger file must be uploaded first, and is named by the result of `upload`. `{ from: { job_id, path } }` names another job's
   * output.
   */
  readonly files?: Readonly<Record<string, FileContent | NamedContent>> | undefined;
  /** Paths of the files to bring back, and patterns such as `output/**`. */
  readonly outputs?: readonly string[] | undefined;
  readonly stdin?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The name of a runtime pack. */
  readonly runtime?: string | undefined;
  /** The weakest isolation that is accepted. */
  readonly minimumIsolation?: IsolationClass | undefined;
  /** Limits that the host must enforce, rather than only watch. */
  readonly enforced?: NonNullable<JobSubmission['requirements']>['enforced'] | undefined;
  readonly limits?: LimitsInput | undefined;
  /** The result of `upload` for an archive of packages, such as `vouchbox libraries pack` writes. */
  readonly libraries?: Libraries | undefined;
  /** Labels by which jobs are listed; at most 16, of 64 characters each. */
  readonly labels?: readonly string[] | undefined;
  /** Whether the receipt has the labels, too. */
  readonly signLabels?: boolean | undefined;
  /** Fixes the hash seeds of Python and Perl, so that the result can be compared with another service's. */
  readonly reproducible?: boolean | undefined;
}

/** A submission made from code, or a given submission in which the options replace the members with the same meaning. */
export async function submissionOf(program: string | JobSubmission, options: ProgramOptions): Promise<JobSubmission> {
  const { files, libraries, minimumIsolation, enforced, signLabels, ...said } = options;
  const others = {
    files: files && (await Promise.all(Object.entries(files).map(inputFile))),
    requirements: (minimumIsolation || enforced) && { minimum_isolation: minimumIsolation, enforced },
    sign_labels: signLabels,
    libraries: libraries && { blob: libraries.blob },
  };
  const given = typeof program === 'string' ? { language: 'python', code: program } : program;
  return { ...given, ...Object.fromEntries(definedEntries({ ...said, ...others })) };
}

async function inputFile([name, content]: [string, FileContent | NamedContent]): Promise<InputFile | UploadedFile> {
  const path = name.startsWith('input/') ? name : `input/${name}`;
  const { blob, from } = content as Partial<OutputFile>;
  // JSON leaves undefined members out.
  if (blob || from) return { path, blob, from } as UploadedFile;
  const bytes = new Uint8Array(await new Response(content as FileContent).arrayBuffer());
  return { path, content_base64: base64Of(bytes) };
}

/** Standard base64. `Uint8Array.prototype.toBase64` is newer than the platforms that the client runs on. */
function base64Of(bytes: Uint8Array): string {
  return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ''));
}
