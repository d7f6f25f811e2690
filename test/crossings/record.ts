/** Whether the record of each job of a cell is whole, and signed if its service signed. */
import { digestPieces, parsePublicKey } from '@vouchbox/evidence';
import { ownBytes, parseExport, verifyExport } from '@vouchbox/verifier';
import { exportFilesOf, readUploads } from '../../packages/cli/src/files/export-origin.ts';
import { readFromService } from '../../packages/cli/src/service-export.ts';
import type { Crossing } from './crossing.ts';

/** @throws Error for the first job whose record does not hold */
export async function checkRecords(crossing: Crossing): Promise<void> {
  for (const job of await crossing.jobs()) {
    await crossing.ended(job);
    await crossing.client.verify(job);
    // A service that signs again also signs the jobs that it did not sign before.
    const isUnsigned = crossing.scenario.act === 'signing_off' && !crossing.service.signs;
    await (isUnsigned ? checkUnsigned : checkSigned)(crossing, job);
  }
}

async function checkUnsigned({ client }: Crossing, job: string): Promise<void> {
  if ((await client.detail(job)).attestation.available) throw new Error('the job is signed');
}

/** Everything that an export of the job has, checked against the key that must have signed it. */
async function checkSigned(crossing: Crossing, job: string): Promise<void> {
  const { client, scenario, service, tenant } = crossing;
  await crossing.signed(job);
  const { key_id } = (await client.detail(job)).attestation;
  // Where the data was carried since, the key of most jobs is no longer the newest.
  const allowed = scenario.act === 'key_rotated' ? [crossing.signer] : service.publicKeys;
  const pinned = allowed.find((pem) => keyIdOf(pem) === key_id);
  if (pinned === undefined) throw new Error(`the job is signed with another key: ${key_id}`);
  const origin = await readFromService(job, client, { publicKeys: [pinned] });
  const { blobs } = await readUploads(origin, { program: 'kept' }, (_path, pieces) => digestPieces(pieces));
  const files = ownBytes(exportFilesOf({ ...origin.source, blobs }, { program: 'kept' }));
  const { exitCode, checks } = await verifyExport(parseExport(files), { publicKeys: [pinned], tenant, job });
  const bad = checks.find(({ isGood }) => !isGood);
  if (exitCode !== 0) throw new Error(`its record is refused with ${exitCode}: ${bad?.name} ${bad?.detail}`);
}

function keyIdOf(pem: string): string | null {
  const parsed = parsePublicKey(pem);
  return parsed.kind === 'key' ? parsed.key.key_id : null;
}
