/**
 * `service-verify bundle`: the same signature in the form that Sigstore's tools read, a bundle v0.3 with a DSSE
 * envelope and the hint of a public key. The signature is checked first. The key must reach the reader by another way.
 */
import { writeFileSync } from 'node:fs';
import {
  canonicalJson,
  decodeEnvelope,
  type Envelope,
  type EnvelopeSignature,
  encodeBase64,
  findSignature,
  parsePublicKey,
} from '@vouchbox/evidence';
import { envelopeBytesMax, sizeText } from '@vouchbox/protocol/vocabulary';
import { EXIT } from './exit-code.ts';
import { readBounded } from './read-file.ts';
import { failed, passed, type Report, refusal } from './report.ts';
import { UsageError } from './usage-error.ts';
import { readPublicKey } from './verify.ts';

export const BUNDLE_MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

export interface BundleOptions {
  readonly envelope: string;
  readonly publicKey: readonly string[];
  /** A file that must not exist yet; without it the bundle goes to stdout. */
  readonly output?: string;
}

/** The report, and the text of the bundle if it is to be printed. */
export interface BundleOutcome {
  readonly report: Report;
  readonly bundle: string | null;
}

type Found = { readonly envelope: Envelope; readonly signature: EnvelopeSignature; readonly key_id: string };

/** Makes a bundle of an envelope that one of the keys signed. */
export async function makeBundle({ envelope, publicKey, output }: BundleOptions): Promise<BundleOutcome> {
  const pems = publicKey.map(readPublicKey);
  const found = await findSigned(readBounded(envelope, envelopeBytesMax), pems);
  if (typeof found === 'string') return { report: refusal(EXIT.signature, [failed('signature', found)]), bundle: null };
  const text = `${bundleText(found)}\n`;
  if (output !== undefined) writeNew(output, text);
  const checks = [passed('signature', `by ${found.key_id}`)];
  const report: Report = { exitCode: EXIT.good, checks, facts: { hint: found.key_id }, notice: NOTICE };
  return { report, bundle: output === undefined ? text : null };
}

const NOTICE = 'The bundle carries no key, time or log entry: its reader must pin the key that the hint names.';

/** The envelope with the signature that verifies, or why there is none. */
async function findSigned(bytes: Uint8Array | null, pems: readonly (string | null)[]): Promise<Found | string> {
  if (bytes === null) return `the envelope is larger than ${sizeText(envelopeBytesMax)}`;
  const decoded = decodeEnvelope(bytes);
  if (decoded.kind === 'refused') return `the envelope is refused: ${decoded.reason}`;
  const parsed = pems.map((pem) => parsePublicKey(pem ?? ''));
  const bad = parsed.find((result) => result.kind === 'refused');
  if (bad !== undefined) return `a public key is refused: ${bad.reason}`;
  const keys = parsed.flatMap((result) => (result.kind === 'key' ? [result.key] : []));
  const signed = await findSignature(decoded.envelope, keys);
  if (signed === null) return 'no signature is right under a pinned key';
  return { envelope: decoded.envelope, signature: signed.signature, key_id: signed.key.key_id };
}

/**
 * Sigstore takes exactly one signature. The hint is the id of the key that verified it, not what `keyid` says; and `keyid` is
 * empty, because Sigstore's tools in Go pass over a signature with a key id in another form than theirs.
 */
function bundleText({ envelope, signature, key_id }: Found): string {
  return canonicalJson({
    mediaType: BUNDLE_MEDIA_TYPE,
    verificationMaterial: { publicKey: { hint: key_id }, tlogEntries: [] },
    dsseEnvelope: {
      payload: encodeBase64(envelope.payload),
      payloadType: envelope.payloadType,
      signatures: [{ keyid: '', sig: encodeBase64(signature.sig) }],
    },
  });
}

/** An existing file may be the evidence itself, so it is never overwritten. */
function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    throw new UsageError(`${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
