/**
 * `service-verify bundle`: an envelope's signature in the form that Sigstore's tools read. This is a bundle v0.3 with the DSSE
 * envelope, a public key hint and, if a log proof is given, the log entry. The signature and the proof are checked first. The
 * reader must get the keys in another way.
 */
import { canonicalJson, encodeBase64, type SignedStatement } from '@vouchbox/evidence';
import { envelopeBytesMax } from '@vouchbox/protocol/vocabulary';
import { EXIT } from './exit-code.ts';
import { readLogProof, readNoteKey } from './log-files.ts';
import { type Made, made } from './new-file.ts';
import { readBounded } from './read-file.ts';
import { failed, passed, type Report, refusal } from './report.ts';
import { signedStatement } from './signed-statement.ts';
import { type TlogEntry, tlogEntry } from './tlog-entry.ts';
import { UsageError } from './usage-error.ts';
import { readPublicKey } from './verify.ts';

export const BUNDLE_MEDIA_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';

export interface BundleOptions {
  readonly envelope: string;
  readonly publicKey: readonly string[];
  /** The proof that the log has the envelope, and the log's key. Give both or neither. */
  readonly logProof?: string;
  readonly logKey?: string;
  /** A file that must not exist yet; without it the bundle goes to stdout. */
  readonly output?: string;
}

/** Makes a bundle from an envelope that one of the keys signed. */
export async function makeBundle({ envelope, publicKey, output, ...log }: BundleOptions): Promise<Made> {
  const pems = publicKey.map(readPublicKey);
  const entryOf = entryMaker(log);
  const signed = await signedStatement(readBounded(envelope, envelopeBytesMax), pems);
  if (typeof signed === 'string') return refused(refusal(EXIT.signature, [failed('signature', signed)]));
  const { key_id } = signed.key;
  const logged = await entryOf?.(signed);
  const checks = [passed('signature', `by ${key_id}`), ...(logged?.checks ?? [])];
  if (logged?.entry === null) return refused(refusal(EXIT.record, checks));
  const notice = logged === undefined ? NOTICE : LOGGED_NOTICE;
  const report: Report = { exitCode: EXIT.good, checks, facts: { hint: key_id }, notice };
  return made(report, `${bundleText(signed, logged === undefined ? [] : [logged.entry])}\n`, output);
}

const NOTICE = 'The bundle has no key, time or log entry: its reader must pin the key that the hint names.';
const LOGGED_NOTICE =
  "The bundle has no key: its reader must pin the key that the hint names, and the log's key by a trusted root. " +
  'The time of its log entry is the one at which the job ended, as its signer says.';

function refused(report: Report): Made {
  return { report, text: null };
}

/** A maker of log entries; null without a proof and a key. A bundle names the log by its key, so both must be given. */
function entryMaker({
  logProof,
  logKey,
}: Pick<BundleOptions, 'logProof' | 'logKey'>): ((signed: SignedStatement) => Promise<TlogEntry>) | null {
  const proof = readLogProof(logProof);
  if (proof === null && logKey === undefined) return null;
  if (proof === null || logKey === undefined)
    throw new UsageError('a bundle with an entry of the log needs both --log-proof and --log-key');
  const log = readNoteKey(logKey, 'note');
  return (signed) => tlogEntry(signed, proof, log);
}

/**
 * Sigstore takes exactly one signature. The hint is the id of the key that verified the signature, not the text in `keyid`.
 * `keyid` is left empty, because Sigstore's tools in Go skip a signature whose key id does not have their form.
 */
function bundleText({ envelope, signature, key }: SignedStatement, tlogEntries: readonly object[]): string {
  return canonicalJson({
    mediaType: BUNDLE_MEDIA_TYPE,
    verificationMaterial: { publicKey: { hint: key.key_id }, tlogEntries },
    dsseEnvelope: {
      payload: encodeBase64(envelope.payload),
      payloadType: envelope.payloadType,
      signatures: [{ keyid: '', sig: encodeBase64(signature.sig) }],
    },
  });
}
