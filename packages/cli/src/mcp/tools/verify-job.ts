/** The tool `verify_job`: makes every check of `service-verify directory` on one of this service's jobs. */
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import { digestPieces } from '@vouchbox/evidence';
import { Closed, Nullable, type Static, Type } from '@vouchbox/protocol';
import { EXIT, ownBytes, parseExport, type Report, verifyExport } from '@vouchbox/verifier';
import { exportFilesOf, readUploads } from '../../files/export-origin.ts';
import { readFromService } from '../../service-export.ts';
import { told } from '../told-text.ts';
import { addTool } from '../tool.ts';

const VerifyJob = Closed({ job_id: Type.String() });

const Verdict = Type.Object({
  verdict: Type.Enum(['good', 'refused']),
  checks: Type.Array(Type.Object({ check: Type.String(), good: Type.Boolean(), detail: Type.String() })),
  key: Type.Enum(['pinned', 'of the service'], {
    description:
      'Whether the operator pinned the key; a key from the service itself proves nothing against the service.',
  }),
  notice: Nullable(Type.String()),
});
type Verdict = Static<typeof Verdict>;

/** PEM texts of the keys that the operator pinned; empty if none. */
export type PinnedKeys = readonly string[];

export function addVerifyJob(server: McpServer, client: ServiceClient, pinned: PinnedKeys): void {
  addTool(server, 'verify_job', {
    title: 'Verify a job',
    description: 'Checks the signature, the receipt and every link of the history of an ended job.',
    input: VerifyJob,
    output: Verdict,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    run: ({ job_id }, { mcpReq: { signal } }) => verifyJob(client, job_id, { pinned, signal }),
  });
}

async function verifyJob(
  client: ServiceClient,
  job_id: string,
  { pinned, signal }: { readonly pinned: PinnedKeys; readonly signal: AbortSignal },
): Promise<CallToolResult> {
  const { tenant } = await client.whoami({ signal });
  const origin = await readFromService(job_id, client, { publicKeys: pinned, signal });
  const { blobs } = await readUploads(origin, { program: 'kept' }, (_path, pieces) => digestPieces(pieces));
  const source = { ...origin.source, blobs };
  const files = ownBytes(exportFilesOf(source, { program: 'kept' }));
  const publicKeys = pinned.length > 0 ? pinned : [source.public_key_pem];
  const report = await verifyExport(parseExport(files), { publicKeys, tenant, job: job_id });
  const verdict = verdictOf(report, pinned.length > 0 ? 'pinned' : 'of the service');
  return { structuredContent: { ...verdict }, content: [{ type: 'text', text: asText(verdict) }] };
}

/** The verdict in this tool's words. The verifier calls every given key pinned, even a key that came from the service itself. */
function verdictOf({ exitCode, checks, notice }: Report, key: Verdict['key']): Verdict {
  const isPinned = key === 'pinned';
  return {
    verdict: exitCode === EXIT.good ? 'good' : 'refused',
    checks: checks.map(({ name, isGood, detail }) => ({
      check: name,
      good: isGood,
      detail: name === 'key' && isGood && !isPinned ? 'of the service, not pinned' : detail,
    })),
    key,
    notice: isPinned || exitCode !== EXIT.good ? notice : UNPINNED,
  };
}

const UNPINNED =
  'The key came from the service itself: this shows that the record is whole, but neither who made it nor that the program succeeded. Pin a key with --public-key.';

function asText({ verdict, checks, key, notice }: Verdict): string {
  const lines = checks.map(
    ({ check, good, detail }) => `${good ? 'ok    ' : 'FAILED'} ${told(check)}: ${told(detail)}`,
  );
  const word = verdict === 'good' && key !== 'pinned' ? 'whole, but the signer is unknown: no key is pinned' : verdict;
  return [word, ...lines, ...(notice === null ? [] : [notice])].join('\n');
}
