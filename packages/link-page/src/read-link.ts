/** Requests the parts that the link shows. The secret is sent in a header, so that no log and no address contains it. */
import { canonicalJson, decodeBase64, EXPORT_FILES, programFiles, sha256Hex } from '@vouchbox/evidence';
import type { FoldedResult, LinkedJob } from '@vouchbox/protocol';
import { inputsOf } from '@vouchbox/protocol/vocabulary';
import type { Files } from '@vouchbox/verify-page';

/** Why something could not be read. `gone` means that the link opens nothing; the service does not say why. */
export class LinkFailure extends Error {
  readonly kind: 'gone' | 'trouble';

  constructor(kind: LinkFailure['kind'], message = '') {
    super(message);
    this.kind = kind;
  }
}

/** An ended job's result. */
export interface LinkedResult {
  /** The output. It is signed if the files include an attestation. */
  readonly printed: Pick<FoldedResult, 'stdout' | 'stderr' | 'truncated' | 'violations'>;
  /** The files, keyed by their names in an export. */
  readonly files: Files;
  /** Files that are read only on request. */
  readonly later: readonly LaterFile[];
}

export interface LaterFile {
  readonly path: string;
  readonly sha256: string;
}

/** Reads through one link. If a method fails, it rejects with a LinkFailure. */
export class LinkReader {
  readonly #secret: string;

  constructor(secret: string) {
    this.#secret = secret;
  }

  async job(): Promise<LinkedJob> {
    return jsonIn(await this.#read('job'));
  }

  async result(job: LinkedJob): Promise<LinkedResult> {
    const isSigned = job.attestation_available;
    const [envelope, artifact, result] = await Promise.all([
      isSigned ? this.#read('attestation') : null,
      isSigned ? this.#read('result-artifact') : null,
      isSigned && !job.shows.includes('files') ? null : this.#read('result'),
    ]);
    const folded = result && jsonIn<FoldedResult>(result);
    const files = new Map<string, Uint8Array<ArrayBuffer>>(programOf(job, folded));
    if (envelope !== null) files.set(EXPORT_FILES.envelope, envelope);
    if (artifact !== null) files.set(EXPORT_FILES.result, artifact);
    const printed = artifact === null ? folded : jsonIn<LinkedResult['printed']>(artifact);
    if (printed === null) throw unreadable();
    const named = inputsOf(job.requested_spec).flatMap((file) =>
      'blob' in file ? [{ path: file.path, sha256: file.blob.replace('sha256:', '') }] : [],
    );
    return { printed, files, later: [...named, ...(folded?.large_outputs ?? [])] };
  }

  /** A file's bytes. They must have the promised digest. */
  async file({ sha256 }: LaterFile): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await this.#read(`blobs/${encodeURIComponent(sha256)}`);
    if (sha256Hex(bytes) !== sha256)
      throw new LinkFailure('trouble', 'The service sent another file than the job had.');
    return bytes;
  }

  async #read(part: string): Promise<Uint8Array<ArrayBuffer>> {
    const request: RequestInit = {
      headers: { authorization: `Bearer ${this.#secret}` },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    };
    let answer: Response;
    try {
      answer = await fetch(`${location.pathname}/${part}`, request);
      if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
    } catch {
      throw new LinkFailure('trouble', 'The service cannot be reached, or its answer broke off.');
    }
    if (answer.status === 404) throw new LinkFailure('gone');
    if (answer.status === 429) throw new LinkFailure('trouble', 'Too many people read results at once. Wait a moment.');
    throw new LinkFailure('trouble', `The service cannot answer now (${answer.status}).`);
  }
}

/** The program, input and files that the link shows, and the receipt if nothing is signed. Empty if there is no receipt. */
function programOf(job: LinkedJob, folded: FoldedResult | null): [string, Uint8Array<ArrayBuffer>][] {
  const { requested_spec, receipt, attestation_available: isSigned } = job;
  if (receipt === undefined) return [];
  const receipt_json = canonicalJson(receipt);
  const artifacts = (folded?.artifacts ?? []).map(({ path, content_base64 }) => {
    const content = decodeBase64(content_base64);
    if (content === null) throw unreadable();
    return { path, content };
  });
  // All contents are in memory here, because files of which only the digest is known were left out.
  const files = programFiles({ requested_spec, receipt_json, artifacts }) as [string, Uint8Array<ArrayBuffer>][];
  return isSigned ? files : [[EXPORT_FILES.receipt, new TextEncoder().encode(receipt_json)], ...files];
}

function jsonIn<Answer>(bytes: Uint8Array): Answer {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Answer;
  } catch {
    throw unreadable();
  }
}

function unreadable(): LinkFailure {
  return new LinkFailure('trouble', 'The answer of the service cannot be read.');
}
