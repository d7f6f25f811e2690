/** Spec § Tools: tool calls and their answers are signed, exported and kept, and are removed together with their job. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeEnvelope, decodeStatement, Transcript } from '@vouchbox/evidence';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { type Rig, useRig } from '../rig/rig.ts';

const rig = useRig({ provider: 'namespace', 'attestation-mode': 'on' });
let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-tools-test-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const CALL = `echo '{"call":1,"tool":"search","arguments":{"q":"\\u001b[2J"}}' >&31; read -r line <&30; echo "$line"`;
const submission = { language: 'bash', code: CALL, tools: [{ name: 'search' }], limits: { wall_seconds: 60 } };

/** Runs the program and answers its tool call. */
async function answered(to: Rig): Promise<string> {
  const { client } = to.alpha;
  const { job_id } = await client.submit(submission);
  const { calls } = await client.toolCalls(job_id, { waitSeconds: 60 });
  await client.answerToolCall(job_id, calls[0]?.seq ?? 0, { result: { found: '\u001b]0;owned\u0007' } });
  await client.waitForResult(job_id);
  return job_id;
}

async function signedTools(to: Rig, job_id: string): Promise<unknown> {
  const { bytes } = await vi.waitFor(() => to.alpha.client.attestation(job_id), { timeout: 20_000, interval: 100 });
  const decoded = decodeEnvelope(bytes);
  const statement = decoded.kind === 'refused' ? decoded : decodeStatement(decoded.envelope.payload);
  if (statement.kind === 'refused') throw new Error(statement.reason);
  return (statement.statement.predicate['also'] as Record<string, unknown> | undefined)?.['tools'];
}

test('a job’s statement has the summary of its tool calls, and an export verifies with these calls', {
  tags: ['Tools-13'],
}, async () => {
  const job_id = await answered(rig());
  const { client, key } = rig().alpha;
  const transcript = new Transcript();
  for await (const event of client.events(job_id)) transcript.add(event);
  expect(await signedTools(rig(), job_id)).toEqual(transcript.evidence());
  expect(transcript.evidence()).toMatchObject({ calls: { search: 1 }, refused: 0 });
  const directory = join(scratch, job_id);
  const { url } = rig().service;
  expect(await vouchbox(['export', job_id, '--output', directory, '--url', url, '--key', key])).toMatchObject({
    code: 0,
  });
  const pinned = join(scratch, 'pinned.pem');
  writeFileSync(pinned, (await client.publicKey()).public_key_pem);
  const verified = await serviceVerify(['directory', directory, '--public-key', pinned, '--tenant', 'alpha']);
  expect(verified.exitCode).toBe(0);
  expect(verified.stdout).toContain('search {"q":"\\u001b[2J"}: {"found":"\\u001b]0;owned\\u0007"}, by ');
  expect(verified.stdout).not.toContain('\u001b');
});

test('the statement has an empty summary if the job called no tool, and no summary if the job has no tools', {
  tags: ['Tools-13'],
}, async () => {
  const { job_id } = await rig().run({ ...submission, code: 'true' });
  expect(await signedTools(rig(), job_id)).toMatchObject({ calls: {}, refused: 0 });
  const { job_id: plain } = await rig().run({ language: 'bash', code: 'true' });
  expect(await signedTools(rig(), plain)).toBeUndefined();
});
