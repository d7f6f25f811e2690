/** The commands that call a service, before one that answers whatever it likes: nothing of it acts on a terminal. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { json, refusal, type ScriptedService, scriptedService } from '../../packages/client/test/scripted-service.ts';
import { type Ended, svc } from '../rig/command.ts';

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-hostile-service-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** Clears a screen in two spellings, turns text around, and ends a line. */
const EVIL = 'x\u001b[2J\u009b2J\u202e\u2028\u007f\u0007';
const SPELLED = 'x\\u{1b}[2J\\u{9b}2J\\u{202e}\\u{2028}\\u{7f}\\u{7}';

const call = ({ baseUrl }: ScriptedService, ...words: string[]): Promise<Ended> =>
  svc([...words, '--url', baseUrl, '--key', 'k'], { cwd: scratch });

/** Nothing but printable ASCII, line feeds and what every message of ours may have. */
const isHarmless = ({ stdout, stderr }: Ended) => !/[^\n -~…]/u.test(stdout + stderr);

describe('what a hostile service says is spelled out', () => {
  const item = { job_id: EVIL, status: EVIL, language: EVIL, created_at: EVIL, duration_ms: 1, exit_code: 0 };

  test('in the list of jobs', async () => {
    await using service = await scriptedService([json({ items: [item], next_cursor: null })]);
    const listed = await call(service, 'jobs', 'list');
    expect(listed.stdout).toContain(`${SPELLED}  ${SPELLED}`);
    const asJson = await call(service, 'jobs', 'list', '--json');
    expect(JSON.parse(asJson.stdout)).toEqual([item]);
    expect([listed, asJson].map(isHarmless)).toEqual([true, true]);
  });

  test('in the detail of a job, which stays the same JSON', async () => {
    const detail = { job_id: 'job_1', requested_spec: { code: EVIL } };
    await using service = await scriptedService([json(detail)]);
    const shown = await call(service, 'jobs', 'show', 'job_1');
    expect(JSON.parse(shown.stdout)).toEqual(detail);
    expect(isHarmless(shown)).toBe(true);
  });

  test('in the answer to a cancellation', async () => {
    await using service = await scriptedService([json({ job_id: 'job_1', status: EVIL, already_terminal: false })]);
    const cancelled = await call(service, 'jobs', 'cancel', 'job_1');
    expect(cancelled.stdout).toBe(`job_1 is ${SPELLED}\n`);
  });

  test('in a refusal, in one line', async () => {
    const error = { code: EVIL, message: `${EVIL}\nsvc: all is well`, request_id: EVIL, retryable: false };
    await using service = await scriptedService([json({ error }, 400)]);
    for (const words of [
      ['jobs', 'list'],
      ['jobs', 'show', 'job_1'],
      ['export', 'job_1'],
    ]) {
      const refused = await call(service, ...words);
      expect(refused.stderr).toMatch(/^svc: x\\u\{1b\}[^\n]*\n$/);
      expect(isHarmless(refused)).toBe(true);
    }
  });

  test('in what happens to a job that is run', async () => {
    const events = [
      { job_id: 'job_1', seq: 1, kind: 'violation', data: { type: EVIL, message: EVIL, path: EVIL } },
      { job_id: 'job_1', seq: 2, kind: 'truncated', data: { stream: EVIL, bytes_seen: EVIL, bytes_stored: EVIL } },
      { job_id: 'job_1', seq: 3, kind: 'finished', data: { status: 'failed', terminal_reason: EVIL, signal: EVIL } },
    ];
    await using service = await scriptedService([
      (response, { method, url }) => {
        if (method === 'POST' && url === '/v1/jobs') return json({ job_id: 'job_1', status: 'queued' }, 201)(response);
        if (method === 'POST') return refusal(404, 'route_not_found', {}, false)(response);
        return json({ events, next_cursor: null })(response);
      },
    ]);
    const ran = await call(service, 'run', '-', '--language', 'bash');
    expect(ran.stderr).toContain(SPELLED);
    expect(isHarmless(ran)).toBe(true);
  });
});
