/** What each check means, in words for people. The names are the verifier's. */

/** The words for each check, keyed by its name. A check about a file is named by the file's path and has no words here. */
export type ChecksWords = Readonly<Record<string, CheckWords>>;

interface CheckWords {
  /** The facts that hold if the check passed. */
  readonly title: string;
  /** Why those facts matter. */
  readonly meaning: string;
}

export const ATTESTATION: ChecksWords = {
  key: {
    title: 'A usable public key',
    meaning: 'Every key is in its one canonical form, and only its owner can make a signature under it.',
  },
  envelope: { title: 'A well-formed envelope', meaning: 'attestation.dsse.json can be read in one way only.' },
  signature: {
    title: 'A signature of that key',
    meaning: 'The holder of the private key signed exactly these bytes of attestation.dsse.json.',
  },
  payload_type: {
    title: 'A statement was signed',
    meaning: 'The signature is over an in-toto statement, and nothing else that looks like one.',
  },
  statement: { title: 'A statement about a run', meaning: 'It is of the type that this service writes.' },
  subject_digest: { title: 'About this result', meaning: 'The digest of result.json is the one that was signed.' },
  subject_name: {
    title: 'About this job',
    meaning: 'The statement names the job of this export, or the one that you expect.',
  },
  media_type: {
    title: 'A result of a run',
    meaning: 'The signed object is meant as a result, and not as something else.',
  },
  predicate: {
    title: 'Complete, without contradiction',
    meaning: 'The signed receipt has its own digest, and says what the statement says.',
  },
  tenant: {
    title: 'Of this tenant',
    meaning: 'The job belongs to the tenant of this export, or the one that you expect.',
  },
  result: {
    title: 'The result says the same',
    meaning: 'Status, exit code and times of result.json are those that were signed.',
  },
};

export const RECORD: ChecksWords = {
  manifest: {
    title: 'The manifest names this job',
    meaning: 'manifest.json names the job and the tenant that were signed.',
  },
  receipt_file: { title: 'The receipt is the signed one', meaning: 'receipt.json is the receipt in the statement.' },
  public_key_file: {
    title: 'The key beside it is the one that signed',
    meaning: 'public-key.pem is for comparison only. No result is ever checked with it.',
  },
  receipt: { title: 'The receipt is unchanged', meaning: 'It has the digest that it states.' },
  chain: {
    title: 'Every event follows from the one before',
    meaning: 'Each digest in events.ndjson was computed anew, from the first event to the last.',
  },
  chain_summary: {
    title: 'No event is missing',
    meaning: 'The receipt states how many events there are, and the digest of the last.',
  },
  finished: {
    title: 'The history ends as the receipt says',
    meaning: 'The last event has the status, the exit code and the times of the receipt.',
  },
  output: { title: 'The output is complete', meaning: 'The digests of the output follow from the events.' },
  artifacts: {
    title: 'The output files are the recorded ones',
    meaning: 'The receipt lists the files that the events name.',
  },
  large_outputs: {
    title: 'The large output files are the recorded ones',
    meaning: 'The receipt lists the large files that the events name.',
  },
  result_content: {
    title: 'The result follows from the history',
    meaning: 'stdout, stderr and violations in result.json follow from the events.',
  },
  tools: {
    title: 'The calls of tools are the signed ones',
    meaning: 'How often each tool was called, and the digest of what was asked and answered, follow from the events.',
  },
  events: { title: 'The history can be read', meaning: 'events.ndjson has one event a line.' },
};

export const LOG: ChecksWords = {
  log_entry: { title: 'A proof of the log', meaning: 'log.tlog-proof can be read in one way only.' },
  log_head: {
    title: 'The log signed this head',
    meaning: "The key of the log signed the log's length and the digest of all of it.",
  },
  log_inclusion: {
    title: 'This statement is in the log',
    meaning: 'Taking it out would change that digest.',
  },
  witness: {
    title: 'A witness saw this head',
    meaning: 'It signs only heads of a log that grew from the one it saw before, so nobody was shown another log.',
  },
};
