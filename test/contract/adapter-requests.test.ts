/**
 * `@vouchbox/adapters` and `vouchbox mcp`: how many requests to the service one call causes. Every request counts
 * against one budget.
 */
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { createServiceClient } from '@vouchbox/client';
import { sha256Hex } from '@vouchbox/evidence';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createServer } from '../../packages/cli/src/mcp/create-server.ts';
import { type AdapterAnswer, call, useAdapter } from '../rig/adapter.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig();

/** Writes to both streams, so that the adapter must also request the order of the output. */
const CODE = 'import sys\nprint("a", flush=True); print("b", file=sys.stderr, flush=True); print("c"); sys.exit(3)';

/** Makes the call twice. In the first, the adapter learns about the service. Returns the second call's requests. */
async function requestsOf(ask: () => Promise<AdapterAnswer>): Promise<{ json: AdapterAnswer['json']; seen: string[] }> {
  await ask();
  const seen: string[] = [];
  const plain = globalThis.fetch;
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const url = new Request(input, init).url;
    if (url.startsWith(rig().service.url)) seen.push(`${init?.method ?? 'GET'} ${url.slice(rig().service.url.length)}`);
    return plain(input, init);
  });
  onTestFinished(() => spy.mockRestore());
  const { json } = await ask();
  return { json, seen: seen.filter((line) => line !== 'GET /v1/capabilities') };
}

describe('one call causes one request to the service', () => {
  const piston = useAdapter(rig, 'piston');
  const judge0 = useAdapter(rig, 'judge0');
  const fusion = useAdapter(rig, 'sandbox-fusion');

  test('through the adapter for Piston, with the output of both streams in the answer', async () => {
    const body = { language: 'python', version: '*', files: [{ content: CODE }] };
    const { json, seen } = await requestsOf(() => call(`${piston()}/api/v2/execute`, body));
    expect(json.run).toMatchObject({ code: 3, stdout: 'a\nc\n', stderr: 'b\n' });
    expect(json.run.output.split('\n').toSorted()).toEqual(['', 'a', 'b', 'c']);
    expect(seen).toEqual(['POST /v1/jobs?wait_seconds=50&include=receipt%2Chistory']);
  });

  test('through the adapter for Judge0, with wait=true and every field; a read by token gives the same answer', async () => {
    const body = { language_id: 71, source_code: CODE, stdin: 'in' };
    const { json, seen } = await requestsOf(() => call(`${judge0()}/submissions?wait=true&fields=*`, body));
    expect(json).toMatchObject({ stdout: 'a\nc\n', stderr: 'b\n', exit_code: 3, source_code: CODE, stdin: 'in' });
    expect(seen).toEqual(['POST /v1/jobs?wait_seconds=50&include=receipt']);
    expect((await call(`${judge0()}/submissions/${json.token}?fields=*`)).json).toEqual(json);
  });

  test('through the adapter for SandboxFusion, with a returned file', async () => {
    const body = { language: 'python', code: `open("a.txt", "w").write("left")\n${CODE}`, fetch_files: ['a.txt'] };
    const { json, seen } = await requestsOf(() => call(`${fusion()}/run_code`, body));
    expect(json).toMatchObject({ run_result: { return_code: 3, stdout: 'a\nc\n' }, files: { 'a.txt': 'bGVmdA==' } });
    expect(seen).toEqual(['POST /v1/jobs?wait_seconds=50&include=receipt']);
  });

  test('through the MCP tool run_code, with a returned file', async () => {
    const service = createServiceClient({ baseUrl: rig().service.url, apiKey: rig().alpha.key });
    const agent = new Client({ name: 'test', version: '1.0.0' });
    const [agentSide, toolSide] = InMemoryTransport.createLinkedPair();
    await createServer({ client: service, version: '1.0.0', pinned: [] }).connect(toolSide);
    await agent.connect(agentSide);
    onTestFinished(() => agent.close());
    const words = { language: 'python', code: `open("output/a.txt", "w").write("left")\n${CODE}` };
    const { json, seen } = await requestsOf(async () => {
      const answer = await agent.callTool({ name: 'run_code', arguments: words });
      return { json: answer.structuredContent } as AdapterAnswer;
    });
    const file = { path: 'output/a.txt', size_bytes: 4, sha256: sha256Hex('left') };
    expect(json).toMatchObject({ stdout: 'a\nc\n', exit_code: 3, networking: 'disabled', files: [file] });
    expect(seen).toEqual(['POST /v1/jobs?wait_seconds=50&include=receipt']);
    expect((await agent.callTool({ name: 'get_job', arguments: { job_id: json.job_id } })).structuredContent).toEqual(
      json,
    );
  });
});
