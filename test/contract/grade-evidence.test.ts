/** The evidence that `vouchbox grade --output` writes if the service is lost, refuses, or holds back an answer. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceVerify } from '@vouchbox/verifier/command';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Command, vouchbox } from '../rig/command.ts';
import { openFaultProxy } from '../rig/fault-proxy.ts';
import { useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on' });
const env = () => ({ SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key });
let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-grade-evidence-'));
  mkdirSync(join(scratch, 'tests'));
  writeFileSync(join(scratch, 'sum.py'), 'print(sum(map(int, input().split())))');
  writeFileSync(join(scratch, 'tests/a.in'), '1 2\n');
  writeFileSync(join(scratch, 'tests/a.out'), '3\n');
});
afterAll(() => rmSync(scratch, { recursive: true }));

describe('the evidence of a verdict', () => {
  test('is whole even if several requests for the evidence are cut off', async () => {
    // The proxy cuts off more requests than an ordinary call makes.
    const faults = [{ on: 'GET /v1/jobs/{id}/attestation', count: 6, fault: 'cut_request' }] as const;
    await using proxy = await openFaultProxy(rig().service.url, faults);
    const words = ['grade', 'sum.py', '--tests', 'tests', '--output', 'borne'];
    const { code, stderr } = await vouchbox(words, { cwd: scratch, env: { ...env(), SERVICE_URL: proxy.url } });
    expect([code, stderr]).toEqual([0, expect.stringContaining('borne has the verdict and its evidence')]);
  });

  test('lacks only the files that the service does not give, and the command exits with 1', async () => {
    const on = 'GET /v1/jobs/{id}/result-artifact';
    await using proxy = await openFaultProxy(rig().service.url, [
      { on, answer: { status: 404, code: 'job_not_found' } },
    ]);
    const words = ['grade', 'sum.py', '--tests', 'tests', '--output', 'partly'];
    const { code, stderr } = await vouchbox(words, { cwd: scratch, env: { ...env(), SERVICE_URL: proxy.url } });
    expect([code, stderr.match(/.* is missing, because .*/g)]).toEqual([
      1,
      [
        expect.stringMatching(
          /^vouchbox: judge is missing, because it could not be read: .*; add it: vouchbox export job_/,
        ),
      ],
    ]);
    expect(readdirSync(join(scratch, 'partly'))).toEqual(['jobs', 'verdict.json']);
  });

  test('can be added with the commands that the error output suggests, if the service gave none', async () => {
    const on = 'GET /v1/jobs/{id}/result-artifact';
    const faults = [{ on, count: 2, answer: { status: 404, code: 'job_not_found' } }];
    await using proxy = await openFaultProxy(rig().service.url, faults);
    const words = ['grade', 'sum.py', '--tests', 'tests', '--output', 'later'];
    const { code, stderr } = await vouchbox(words, { cwd: scratch, env: { ...env(), SERVICE_URL: proxy.url } });
    expect(code).toBe(1);
    const key = join(scratch, 'key.pem');
    writeFileSync(key, (await rig().alpha.client.publicKey()).public_key_pem);
    const advice = Array.from(stderr.matchAll(/; add it: vouchbox (.*)/g), ([, advised = '']) => advised.split(' '));
    expect(advice).toHaveLength(2);
    for (const advised of advice) {
      const given = advised.map((word) => (word === 'KEY' ? key : word));
      expect(await vouchbox(given, { cwd: scratch, env: env() })).toMatchObject({ code: 0 });
    }
    const verified = ['verdict', join(scratch, 'later'), '--public-key', key, '--tenant', 'alpha'];
    expect((await serviceVerify(verified)).exitCode).toBe(0);
  });

  test('is written, and the command exits with 1, if the page about the grading cannot be written', async () => {
    const words = ['grade', 'sum.py', '--tests', 'tests', '--output', 'beside', '--report', '/dev/full'];
    const { code, stderr } = await vouchbox(words, { cwd: scratch, env: env() });
    expect([code, stderr]).toEqual([1, expect.stringContaining('/dev/full cannot be written')]);
    expect(stderr).toContain('beside has the verdict and its evidence');
  });

  test('cannot be written to a full disk, and the command then shows the verdict and exits with 1', async () => {
    mkdirSync(join(scratch, 'small'));
    const full = ['mount', '-t', 'tmpfs', '-o', 'size=8k', 'none', join(scratch, 'small')];
    const within = ['unshare', '--mount', 'sh', '-c', `${full.join(' ')} && exec "$0" "$@"`];
    const words = ['grade', 'sum.py', '--tests', 'tests', '--output', 'small/out'];
    const { code, stdout, stderr } = await vouchbox(words, { cwd: scratch, env: env(), within });
    expect([code, stdout]).toEqual([1, expect.stringContaining('accepted: 1 of 1 points')]);
    expect(stderr).toContain('small/out could not be written: ENOSPC');
  });

  test('stays unchanged if the command is interrupted while it reads a new verdict’s evidence', async () => {
    const words = ['grade', 'sum.py', '--tests', 'tests', '--output', 'kept'];
    expect((await vouchbox(words, { cwd: scratch, env: env() })).code).toBe(0);
    const before = readdirSync(scratch);
    const on = 'GET /v1/jobs/{id}/attestation';
    await using proxy = await openFaultProxy(rig().service.url, [{ on, count: 9, fault: 'hold_answer' }]);
    const more = { cwd: scratch, env: { ...env(), SERVICE_URL: proxy.url } };
    await using command = new Command([...words, '--force'], more);
    let meanwhile: string[] = [];
    proxy.onHeld = () => {
      meanwhile = readdirSync(join(scratch, 'kept'));
      command.kill('SIGINT');
    };
    const { code, stderr } = await command.ended();
    expect([code, stderr]).toEqual([130, expect.stringContaining('interrupted: the evidence was not written')]);
    expect(meanwhile).toEqual(['jobs', 'judge', 'verdict.json']);
    expect([readdirSync(scratch), readdirSync(join(scratch, 'kept'))]).toEqual([
      before,
      ['jobs', 'judge', 'verdict.json'],
    ]);
  });

  test('is absent and no grading is made if the command is interrupted before the service has named its key', async () => {
    const on = 'GET /v1/attestation/public-key';
    await using proxy = await openFaultProxy(rig().service.url, [{ on, count: 9, fault: 'hold_answer' }]);
    const words = ['grade', 'sum.py', '--tests', 'tests', '--output', 'unnamed'];
    await using command = new Command(words, { cwd: scratch, env: { ...env(), SERVICE_URL: proxy.url } });
    proxy.onHeld = () => command.kill('SIGINT');
    const { code, stdout, stderr } = await command.ended();
    expect([code, stdout, stderr]).toEqual([130, '', 'vouchbox: interrupted: there is no verdict\n']);
    expect(proxy.seen.map(({ operation }) => operation)).not.toContain('POST /v1/gradings');
  });
});
