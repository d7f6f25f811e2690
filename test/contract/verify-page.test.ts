/** `vouchbox verify-page`, and the same page from a service. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { vouchbox } from '../rig/command.ts';
import { Rig } from '../rig/rig.ts';

let rig: Rig;
let scratch: string;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), 'vouchbox-page-'));
  rig = await Rig.start();
});
afterAll(async () => {
  rmSync(scratch, { recursive: true });
  expect(await rig.stop()).toEqual([]);
});

test('vouchbox verify-page writes the page that a service serves to anyone', async () => {
  const file = join(scratch, 'verify.html');
  expect(await vouchbox(['verify-page', file])).toMatchObject({ code: 0, stdout: `${file}\n` });
  const served = await rig.request('/verify', { key: null });
  expect([served.status, served.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(served.text).toBe(readFileSync(file, 'utf8'));
});

test('the verifying page’s policy names script and style by digest, and allows no address and no frame', async () => {
  const { headers } = await rig.request('/verify', { key: null });
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'sha256-[\w+/]{43}='; /);
  expect(policy).toMatch(/; frame-ancestors 'none'$/);
  expect(policy).not.toMatch(/unsafe|'self'|https?:|\*/);
});

test('vouchbox verify-page refuses to replace a file', async () => {
  const file = join(scratch, 'verify.html');
  expect(await vouchbox(['verify-page', file])).toMatchObject({
    code: 2,
    stderr: `vouchbox: ${file} exists already; name another\n`,
  });
});
