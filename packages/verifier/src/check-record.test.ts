import { describe, expect, test } from 'vitest';
import { attestedJob, line } from '../test/attested-job.ts';
import { resultCheck } from './check-record.ts';

const job = attestedJob({
  bodies: [
    line('stdout', 'one'),
    { kind: 'stdout', timestamp: '2026-01-01T00:00:01.000Z', data: { text: 'two', partial: true } },
    line('stderr', 'err'),
    {
      kind: 'violation',
      timestamp: '2026-01-01T00:00:01.000Z',
      data: { type: 'pids', message: 'too many', limit: 64 },
    },
  ],
});
const artifact = JSON.parse(new TextDecoder().decode(job.attestation.result)) as Record<string, unknown>;

describe('the content of a result artifact', () => {
  test('is accepted if it follows from the events and the receipt (Spec § Result artifact)', () => {
    expect(artifact).toMatchObject({ stdout: 'one\ntwo', stderr: 'err\n', violations: [{ type: 'pids' }] });
    expect(resultCheck(artifact, job).isGood).toBe(true);
  });

  test.each([
    ['stdout', 'one\ntwo\n'],
    ['stderr', 'err'],
    ['violations', []],
    ['truncated', true],
    ['signal', 'SIGKILL'],
    ['terminal_reason', 'signaled'],
    ['created_at', '2026-01-01T00:00:00.999Z'],
    ['started_at', null],
    ['duration_ms', 13],
  ])('is refused if its %s was changed', (name, value) => {
    expect(resultCheck({ ...artifact, [name]: value }, job)).toMatchObject({
      isGood: false,
      detail: `its ${name} does not follow from the events and the receipt`,
    });
  });

  test('is refused if a member is missing', () => {
    const { stdout: _, ...rest } = artifact;
    expect(resultCheck(rest, job).isGood).toBe(false);
  });

  test('is compared only with values that the receipt states, because an older receipt lacks some', () => {
    const { truncated: _, signal: __, ...receipt } = job.receipt;
    expect(resultCheck({ ...artifact, truncated: true }, { events: job.events, receipt }).isGood).toBe(true);
  });
});
