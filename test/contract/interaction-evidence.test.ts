/** Spec § Interaction: the evidence of two jobs whose programs talked, even after a crash, and the command that runs them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Command, type CommandOptions, vouchbox } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on', provider: 'subprocess', concurrency: '2' });
let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-interaction-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

function program(name: string, code: string): string {
  writeFileSync(join(scratch, name), code);
  return name;
}
const toService = (): CommandOptions => ({
  cwd: scratch,
  env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key },
});

const ASKS = 'print("17", flush=True)\nprint("it said", input())';
/** Writes a second line once the other program has ended, so that nobody reads that line. */
const ANSWERS = 'import sys\nn = int(input())\nprint(n * 2, flush=True)\nsys.stdin.read()\nprint("too late")';

test('an export of either job has the whole pair, and each receipt is checked against the other receipt', {
  tags: ['Interaction-8'],
}, async () => {
  const interactor = { language: 'python', code: ANSWERS };
  const { json } = await rig().post({ language: 'python', code: ASKS, interactor });
  const ids = [json.job_id, json.interaction.peer] as string[];
  for (const id of ids) await rig().alpha.client.waitForResult(id);
  const pinned = join(scratch, 'pinned.pem');
  await vouchbox(['attestation-keys', 'export', '--output', pinned, '--data-dir', rig().dataDir]);
  for (const [at, id] of ids.entries()) {
    const words = ['export', id, '--with-inputs', '--output', `pair-${at}`, '--public-key', pinned];
    expect((await vouchbox(words, toService())).code).toBe(0);
    const verified = async () =>
      await serviceVerify(['graph', join(scratch, `pair-${at}`), '--public-key', pinned, '--tenant', 'alpha']);
    const good = await verified();
    expect(good.exitCode).toBe(0);
    const [one, other] = at === 0 ? ids : ids.toReversed();
    expect(good.stdout.split('\n').slice(-4, -1)).toEqual([
      `${one}  succeeded`,
      `└─ stdin ← stdout of ${other}  succeeded`,
      `   └─ stdin ← stdout of ${one}  succeeded, as above`,
    ]);
    const events = join(scratch, `pair-${at}`, ids[1] as string, 'events.ndjson');
    writeFileSync(events, readFileSync(events, 'utf8').replace('"34"', '"35"'));
    const changed = await verified();
    expect([changed.exitCode, changed.stderr]).toEqual([6, expect.stringContaining(`refused at ${ids[1]}`)]);
    rmSync(join(scratch, `pair-${at}`, ids[1] as string), { recursive: true });
    expect((await verified()).exitCode).toBe(5);
  }
});

test("vouchbox run passes on the program's output, and says how the interactor ended", {
  tags: ['Interaction-1'],
}, async () => {
  const run = (...words: string[]) => vouchbox(['run', ...words], toService());
  const asks = program('asks.py', ASKS);
  const good = program('good.py', 'import sys\nprint(int(input()) * 2, flush=True)\nprint("judged", file=sys.stderr)');
  const bad = program('bad.py', 'print("x", flush=True)\nraise SystemExit(43)');
  expect(await run(asks, '--interactor', good)).toEqual({
    code: 0,
    signal: null,
    stdout: '17\nit said 34\n',
    stderr: 'vouchbox: interactor: judged\n',
  });
  const refused = await run(asks, '--interactor', bad);
  expect([refused.code, refused.stdout]).toEqual([1, '17\nit said x\n']);
  expect(refused.stderr).toMatch(/^vouchbox: the interactor exited with 43 \(job_.*\)\n$/);
  const told = await run(asks, '--interactor', bad, '--json');
  expect(JSON.parse(told.stdout)).toMatchObject({
    status: 'succeeded',
    interactor: { exit_code: 43, status: 'failed' },
  });
});

test('both jobs of a pair end in the same way if the service was killed while they ran', {
  tags: ['Interaction-10'],
}, async () => {
  const dataDir = join(scratch, 'killed');
  const serving = async () => {
    const service = new Command(['serve', '--port', '0', '--data-dir', dataDir, '--provider', 'subprocess'], {
      env: { SERVICE_CONCURRENCY: '2', SERVICE_LEGACY_KEYS: 'alpha=key-of-alpha', SERVICE_LOG_LEVEL: 'silent' },
    });
    const [, baseUrl = ''] = await service.shows(/^listening on (http:\/\/\S+)\r?\n/m);
    return { service, client: createServiceClient({ baseUrl, apiKey: 'key-of-alpha' }) };
  };
  const { service, client } = await serving();
  await using _first = service;
  const waits = { language: 'python', code: 'print("up", flush=True)\ninput()' };
  const { job_id, interaction } = await client.submit({ ...waits, interactor: { ...waits, code: 'input(); input()' } });
  for await (const { kind } of client.follow(job_id)) if (kind === 'stdout') break;
  service.kill('SIGKILL');
  await service.ended();
  const after = await serving();
  await using _second = after.service;
  for (const id of [job_id, interaction?.peer ?? ''])
    expect(await after.client.detail(id)).toMatchObject({ status: 'error', terminal_reason: 'server_restarted' });
  after.service.kill('SIGTERM');
  expect((await after.service.ended()).code).toBe(0);
  expect(leftoversOf(dataDir)).toEqual([]);
});
