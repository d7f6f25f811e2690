/** Checks that the record of every job in a cell is complete, and that it is signed if the cell's service signed. */
import { digestPieces, type LogKeys, type NoteKey, parseNoteKey, parsePublicKey, Transcript } from '@vouchbox/evidence';
import { ownBytes, parseExport, verifyExport } from '@vouchbox/verifier';
import { exportFilesOf, readUploads } from '../../packages/cli/src/files/export-origin.ts';
import { readFromService } from '../../packages/cli/src/service-export.ts';
import { promiseStanding } from '../../packages/verifier/src/promise-standing.ts';
import type { Crossing } from './crossing.ts';

/** @throws Error for the first job whose record has a fault */
export async function checkRecords(crossing: Crossing): Promise<void> {
  for (const job of await crossing.jobs()) {
    await crossing.ended(job);
    await crossing.client.verify(job);
    await checkCalls(crossing, job);
    await checkLabels(crossing, job);
    // Once signing is on again, the service also signs its earlier jobs.
    const isUnsigned = crossing.scenario.act === 'signing_off' && !crossing.service.signs;
    await (isUnsigned ? checkUnsigned : checkSigned)(crossing, job);
  }
}

async function checkCalls({ client, scenario }: Crossing, job: string): Promise<void> {
  const transcript = new Transcript();
  for await (const event of client.events(job)) transcript.add(event);
  const { transcript: expected = '' } = scenario;
  if (transcript.text() !== expected) throw new Error(`its calls of tools are ${transcript.text()}, not ${expected}`);
}

/** Checks that each label finds the job, and that the receipt has every label that must be signed. */
async function checkLabels({ client, scenario }: Crossing, job: string): Promise<void> {
  const { labels } = scenario.program;
  const { receipt, requested_spec: spec } = await client.detail(job);
  for (const label of labels ?? []) {
    const listed = await Array.fromAsync(client.listAll({ label, status: ['succeeded'] }));
    const line = listed.find(({ job_id }) => job_id === job)?.first_line;
    if (line !== spec.code) throw new Error(`the label ${label} finds its first line as ${line}`);
  }
  const signed = spec.sign_labels ? labels : undefined;
  const found = String(receipt?.labels);
  if (found !== String(signed)) throw new Error(`its receipt has the labels ${found}`);
}

async function checkUnsigned({ client }: Crossing, job: string): Promise<void> {
  if ((await client.detail(job)).attestation.available) throw new Error('the job is signed');
}

/**
 * Checks everything in an export of the job, including the signature by the expected key and the job's place in the log.
 */
async function checkSigned(crossing: Crossing, job: string): Promise<void> {
  const { client, scenario, service, tenant } = crossing;
  await crossing.signed(job);
  const { key_id } = (await client.detail(job)).attestation;
  // In carried data, most jobs were signed by a key that is older than the newest one.
  const allowed = scenario.act === 'key_rotated' ? [crossing.signer] : service.publicKeys;
  const pinned = allowed.find((pem) => keyIdOf(pem) === key_id);
  if (pinned === undefined) throw new Error(`the job is signed with another key: ${key_id}`);
  const origin = await readFromService(job, client, { publicKeys: [pinned] });
  const { blobs } = await readUploads(origin, { program: 'kept' }, (_path, pieces) => digestPieces(pieces));
  const files = ownBytes(exportFilesOf({ ...origin.source, blobs }, { program: 'kept' }));
  const canary =
    scenario.act === 'canaried' && (await runsTheProgram(crossing, job))
      ? { bytes: new Uint8Array(await origin.canary()) }
      : null;
  // A job of the act `signing_off` is signed later, perhaps on carried data, where the service's log may wait to be reopened.
  const isSignedSince = scenario.act === 'signing_off';
  const logProof = isSignedSince ? null : new Uint8Array(await origin.logProof());
  const log = { keys: keysOfLog(service.logKey) };
  const given = { publicKeys: [pinned], tenant, job, log, logProof, canary };
  const { exitCode, checks, log: standing, facts } = await verifyExport(parseExport(files), given);
  const bad = checks.find(({ isGood }) => !isGood);
  if (exitCode !== 0) throw new Error(`its record is refused with ${exitCode}: ${bad?.name} ${bad?.detail}`);
  if (standing.isLogged === isSignedSince) throw new Error(`the log wrongly has or lacks it: ${standing.word}`);
  if (scenario.answers !== undefined && !checks.some(({ name }) => name === 'tools'))
    throw new Error('what is signed says nothing of its calls of tools');
  if (canary !== null && !checks.some(({ name }) => name === 'canary')) {
    throw new Error(`it has no canary beside it: ${JSON.stringify(facts)}`);
  }
  if (logProof !== null && (await client.detail(job)).requested_spec.promise)
    await checkPromise(crossing, job, { pinned, logProof });
}

/** Whether a job runs the scenario's program. All other jobs only bridge the wait for a canary, and name no canary. */
async function runsTheProgram({ client, scenario }: Crossing, job: string): Promise<boolean> {
  return (await client.detail(job)).requested_spec.code === scenario.program.code;
}

function keysOfLog(text: string): LogKeys {
  const parsed = parseNoteKey(text);
  if (parsed.kind !== 'key') throw new Error(`the service has no log: ${text}`);
  return { log: parsed.key as NoteKey, witnesses: [] };
}

async function checkPromise(
  { client, service, tenant }: Crossing,
  job: string,
  { pinned, logProof }: { readonly pinned: string; readonly logProof: Uint8Array },
): Promise<void> {
  const { bytes: promise } = await client.promise(job);
  const { bytes: result } = await client.attestation(job);
  const { word, checks } = await promiseStanding({
    publicKeys: [pinned],
    tenant,
    job,
    log: keysOfLog(service.logKey),
    pending: [],
    heads: [],
    promise: new Uint8Array(promise),
    result: new Uint8Array(result),
    logProof,
  });
  if (word !== 'KEPT') throw new Error(`its promise is ${word}: ${JSON.stringify(checks)}`);
}

function keyIdOf(pem: string): string | null {
  const parsed = parsePublicKey(pem);
  return parsed.kind === 'key' ? parsed.key.key_id : null;
}
