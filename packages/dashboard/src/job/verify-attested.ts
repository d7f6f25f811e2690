/**
 * Checks everything that a job's attestation says, as `service-verify directory` does: the same files are put together from the
 * service's answers, and none of them is trusted. Loaded when something is checked.
 */
import type { JobDetail, ServiceClient } from '@vouchbox/client';
import { canonicalJson, decodeBase64, type ExportSource, exportFiles } from '@vouchbox/evidence';
import type { JobEvent } from '@vouchbox/protocol';
import { parseExport, type Report, verifyExport } from '@vouchbox/verifier';
import type { PinnedKey } from '../session/pinned-keys.ts';

interface Attested {
  readonly client: ServiceClient;
  readonly job_id: string;
  /** The caller's tenant. */
  readonly tenant: string;
  readonly pinned: readonly PinnedKey[];
  readonly signal: AbortSignal;
}

/** The most events of a page. */
const pageEvents = 1000;

export interface AttestedReport extends Report {
  /** Every event, in order, for a drawing of the chain. */
  readonly events: readonly JobEvent[];
}

/** Reads the job's record from the service, and checks it against the pinned keys. */
export async function verifyAttested({ client, job_id, tenant, pinned, signal }: Attested): Promise<AttestedReport> {
  const source = await readSource({ client, job_id, tenant, pinned, signal });
  const files = new Map(
    Array.from(exportFiles(source, { program: 'kept' }), ([path, bytes]) => [path, new Uint8Array(bytes)] as const),
  );
  const publicKeys = pinned.map(({ pem }) => pem);
  const report = await verifyExport(parseExport(files), { publicKeys, tenant, job: job_id });
  return { ...report, events: source.events };
}

async function readSource({ client, job_id, tenant, pinned, signal }: Attested): Promise<ExportSource> {
  const [envelope, result, detail, folded] = await Promise.all([
    client.attestation(job_id, { signal }),
    client.resultArtifact(job_id, { signal }),
    client.detail(job_id, { signal }),
    client.result(job_id, { signal }),
  ]);
  return {
    tenant,
    job_id,
    envelope: envelope.bytes,
    result_artifact: result.bytes,
    receipt_json: canonicalJson(detail.receipt),
    events: (await Array.fromAsync(client.events(job_id, { limit: pageEvents, signal }))) as JobEvent[],
    public_key_pem: await signerOf(detail, pinned, client),
    requested_spec: detail.requested_spec,
    artifacts: folded.artifacts.map(({ path, content_base64 }) => ({
      path,
      content: decodeBase64(content_base64) ?? new Uint8Array(),
    })),
  };
}

/** The key that the export names, for comparison. A service knows only its present one, so a pinned one comes first. */
async function signerOf(
  { attestation }: JobDetail,
  pinned: readonly PinnedKey[],
  client: ServiceClient,
): Promise<string> {
  const known = pinned.find(({ key_id }) => key_id === attestation.key_id);
  return known?.pem ?? (await client.publicKey()).public_key_pem;
}
