/** A grading continues after its service was killed, and ends with the verdict that it would have had without the kill. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GradingSubmission } from '@vouchbox/protocol';
import { expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';
import { crashClient } from './workload.ts';

/** A judge that waits for the program's end. In a cell with loopback, it then judges. In any other cell, it waits for a kill. */
const JUDGE = `import socket, sys, time
said = sys.stdin.read()
try:
    socket.socket()
except OSError:
    time.sleep(299)
sys.exit(said != "up\\n")`;
const GRADING: GradingSubmission = {
  verdict: 'urn:svc:verdict:v2',
  programs: [{ name: 'one', language: 'python', code: 'print("up")' }],
  tests: [{ name: 'small' }],
  interactor: { language: 'python', code: JUDGE },
};

test('a test is run again if its program had ended and its interactor still ran when the service was killed', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-killed-grading-'));
  let grading_id = '';
  {
    await using service = await ServiceProcess.start({ dataDir, environment: { SERVICE_LOOPBACK: 'off' } });
    const client = crashClient(service.url);
    ({ grading_id } = await client.submitGrading(GRADING));
    const statuses = async () => (await client.list({})).items.map(({ status }) => status);
    await expect.poll(statuses).toContain('succeeded');
    expect(await statuses()).toContain('running');
  }
  await using service = await ServiceProcess.start({ dataDir, environment: { SERVICE_LOOPBACK: 'on' } });
  const { graded } = await crashClient(service.url).waitForGrading(grading_id);
  expect(graded).toMatchObject([{ verdict: { accepted: true, points: 1 } }]);
  rmSync(dataDir, { recursive: true });
});
