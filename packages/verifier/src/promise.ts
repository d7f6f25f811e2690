/** `service-verify promise`: checks from files whether the holder of a pinned key made a promise and kept it. */
import { logProofBytesMax, parseStrictJson } from '@vouchbox/evidence';
import { envelopeBytesMax } from '@vouchbox/protocol/vocabulary';
import { EXIT } from './exit-code.ts';
import { readLog, readLogFile, readLogProof } from './log-files.ts';
import { pendingIn, promiseStanding } from './promise-standing.ts';
import { readWhole } from './read-file.ts';
import { failed, passed, type Report } from './report.ts';
import { UsageError } from './usage-error.ts';
import { readPublicKey, type TrustOptions } from './verify.ts';

/** The paths of files, and what is expected of them. */
export interface PromiseOptions extends TrustOptions {
  readonly job?: string;
  readonly logKey?: string;
  readonly witness?: readonly string[];
  /** The signed envelope of the result. */
  readonly envelope?: string;
  readonly logProof?: string;
  readonly pending?: string;
  readonly head?: readonly string[];
  readonly require?: readonly string[];
}

/** More bytes than the service's answer can have: an answer has at most fifty statements, each with its proof. */
const pendingBytesMax = 64 * logProofBytesMax;

const NOTICE =
  'This shows what the holder of the pinned key promised, and what the files say of it. It does not show that nothing else ' +
  'is in the log: ask the service for the proof before you say that a promise was broken.';

export async function verifyPromise(file: string, options: PromiseOptions): Promise<Report> {
  const { publicKey, tenant, job, logKey, witness = [], envelope, logProof, pending, head = [] } = options;
  const demands = options.require ?? [];
  const unknown = demands.find((demand) => demand !== 'kept');
  if (unknown !== undefined)
    throw new UsageError(`unknown requirement ${unknown}; a promise can only be required to be kept`);
  const ofLog = [envelope, logProof, pending, ...head].some((path) => path !== undefined);
  if (ofLog && logKey === undefined) throw new UsageError('requirements on the log need --log-key, the key of the log');
  const { keys } = readLog({ ...(logKey !== undefined && { logKey }), witness });
  const { exitCode, checks, word, facts } = await promiseStanding({
    promise: readWhole(file, envelopeBytesMax),
    publicKeys: publicKey.map(readPublicKey),
    tenant,
    job,
    log: keys,
    result: envelope === undefined ? null : readWhole(envelope, envelopeBytesMax),
    logProof: readLogProof(logProof),
    pending: pending === undefined ? [] : readPendingFile(pending),
    heads: head.map(readLogFile),
  });
  if (exitCode !== EXIT.good || demands.length === 0)
    return { exitCode, checks, facts, notice: exitCode === EXIT.good ? NOTICE : null };
  const isKept = word === 'KEPT';
  const demanded = isKept ? passed('kept', 'KEPT') : failed('kept', `it is ${word}`);
  return {
    exitCode: isKept ? EXIT.good : EXIT.policy,
    checks: [...checks, demanded],
    facts,
    notice: isKept ? NOTICE : null,
  };
}

function readPendingFile(path: string) {
  const json = parseStrictJson(readWhole(path, pendingBytesMax));
  const pending = json.kind === 'value' ? pendingIn(json.value) : null;
  if (pending === null) throw new UsageError(`${path} is not an answer of GET /v1/jobs/{id}/pending`);
  return pending;
}
