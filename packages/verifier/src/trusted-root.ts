/**
 * `service-verify trusted-root`: writes the pinned keys of logs in the form that Sigstore's tools take. The root
 * names no signer: those tools get the signer's key separately. docs/decisions/0064 says what the tools demand.
 */
import { canonicalJson, encodeBase64, logNameOf, type NoteKey, rekorIdOf, spkiOf } from '@vouchbox/evidence';
import { EXIT } from './exit-code.ts';
import { readNoteKey } from './log-files.ts';
import { type Made, made } from './new-file.ts';
import { passed } from './report.ts';
import { UsageError } from './usage-error.ts';

export interface TrustedRootOptions {
  readonly logKey: readonly string[];
  /** A file that must not exist yet; without it the root goes to stdout. */
  readonly output?: string;
}

const NOTICE = 'The root names logs and no signer: its user must also pin the key of the signer.';

/** Sigstore's tools demand a start of a key's validity, which no file has. This start limits nothing: the log has no times. */
const SINCE_EVER = { start: '1970-01-01T00:00:00Z' };

export function makeTrustedRoot({ logKey, output }: TrustedRootOptions): Made {
  const logs = logKey.map((path) => logIn(path));
  const checks = logs.map(({ key }) => passed('log', key.name));
  // All trees of one log have one key. Sigstore's tools look the log up by that key.
  const tlogs = new Map(logs.map((log) => [log.host + log.key.key.key_id, tlogOf(log)])).values();
  const root = {
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [...tlogs],
    certificateAuthorities: [],
    ctlogs: [],
    timestampAuthorities: [],
  };
  return made({ exitCode: EXIT.good, checks, facts: {}, notice: NOTICE }, `${canonicalJson(root)}\n`, output);
}

interface PinnedLog {
  readonly host: string;
  readonly key: NoteKey;
}

function logIn(path: string): PinnedLog {
  const key = readNoteKey(path, 'note');
  const name = logNameOf(key.name);
  if (name === null) throw new UsageError(`${path} has the key of ${key.name}, which is no log HOST/log/TREE`);
  return { host: name.host, key };
}

/** A log's entry in the root. It lacks `checkpointKeyId`, because verifiers in use disagree about what that member names. */
function tlogOf({ host, key }: PinnedLog): object {
  return {
    baseUrl: `https://${host}`,
    hashAlgorithm: 'SHA2_256',
    publicKey: { rawBytes: encodeBase64(spkiOf(key.key.raw)), keyDetails: 'PKIX_ED25519', validFor: SINCE_EVER },
    logId: { keyId: encodeBase64(rekorIdOf(key)) },
  };
}
