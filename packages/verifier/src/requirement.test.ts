import { executionPredicate } from '@vouchbox/evidence';
import { describe, expect, test } from 'vitest';
import { attestedJob } from '../test/attested-job.ts';
import { nothingBeside } from './beside.ts';
import { parseRequirement, requirementForms } from './requirement.ts';
import { UsageError } from './usage-error.ts';

const job = attestedJob();

function judge(text: string, changes: Readonly<Record<string, unknown>> = {}) {
  const receipt = { ...job.receipt, ...changes };
  const { tenant, job_id } = job;
  return parseRequirement(text).judge(
    executionPredicate({ ...job.receipt, tenant, job_id, truncated: false }, receipt, {
      resultSizeBytes: 1,
      salt: null,
      tenant_number: null,
    }),
    nothingBeside,
  );
}

describe('a requirement on a receipt', () => {
  test.each([
    'status=succeeded',
    'exit_code=0',
    'terminal_reason=exited',
    'isolation>=none',
    'isolation>=linux-shared-kernel',
    'isolation>=gvisor-application-kernel',
    'isolation=gvisor-application-kernel',
    'networking=disabled',
    'seccomp=filter',
    'backend=gvisor',
    'private_rootfs=true',
    'no_new_privileges=true',
    'truncated=false',
    'chain_complete=true',
    'language=python',
    'runtime_pack=science',
    'runtime_pack=science@2.1',
    `runtime_pack_digest=${'ab'.repeat(32)}`,
    'duration_ms<=12',
    'wall_seconds<=10',
    'cpu_seconds<=2.5',
    'mem_mb<=256',
    'mem_mb<=257',
    'max_pids<=64',
  ])('is met by the observed values: %s', (text) => {
    expect(judge(text)).toMatchObject({ isMet: true });
  });

  test.each([
    ['status=failed', 'succeeded'],
    ['exit_code=1', '0'],
    ['isolation>=hardware-vm', 'gvisor-application-kernel'],
    ['isolation>=wasm-capability', 'gvisor-application-kernel'],
    ['isolation=linux-shared-kernel', 'gvisor-application-kernel'],
    ['networking=host', 'disabled'],
    ['truncated=true', 'false'],
    ['language=node', 'python'],
    ['runtime_pack=other', 'science@2.1'],
    ['runtime_pack=science@2.10', 'science@2.1'],
    ['duration_ms<=11', '12'],
    ['cpu_seconds<=2.4', '2.5'],
    ['mem_mb<=255', '256'],
    ['max_file_mb<=16', '16, and not in force'],
  ])('is not met by other values, and the report says what was found: %s, found %s', (text, found) => {
    expect(judge(text)).toEqual({ isMet: false, found });
  });

  test.each([
    ['isolation>=none', { isolation_class: null }],
    ['isolation=none', { isolation_class: null }],
    ['networking=disabled', { networking: null }],
    ['runtime_pack=science', { runtime_pack: null }],
    ['runtime_pack=science', { runtime_pack: undefined }],
    ['seccomp=filter', { seccomp: undefined }],
    ['truncated=false', { truncated: undefined }],
    ['mem_mb<=256', { effective_limits: undefined, limit_enforcement: undefined }],
    ['duration_ms<=1000', { duration_ms: null }],
  ] as const)('is not met if nothing was observed: %s (Spec § Receipt)', (text, receipt) => {
    expect(judge(text, receipt)).toMatchObject({ isMet: false, found: expect.stringContaining('not observed') });
  });

  test('label=TEXT is met if the receipt has exactly this label', () => {
    const labels = ['course 7', 'attempt=2'];
    const isMet = (text: string, receipt: object) => judge(text, { ...receipt }).isMet;
    expect(['label=course 7', 'label=attempt=2'].map((text) => isMet(text, { labels }))).toEqual([true, true]);
    expect(['label=course', 'label=attempt'].map((text) => isMet(text, { labels }))).toEqual([false, false]);
    expect(judge('label=course 8', { labels }).found).toBe('["course 7","attempt=2"]');
    expect(judge('label=course 7')).toEqual({
      isMet: false,
      found: expect.stringContaining('the receipt, which has no labels: only `run --sign-labels`'),
    });
    expect(isMet('label=course 7', { labels: 'course 7' })).toBe(false);
  });

  test.each([
    'label',
    'label=',
    'label:course',
    'label>=course',
    'status',
    'status=',
    'status=great',
    'status>=succeeded',
    'status==succeeded',
    'Status=succeeded',
    'exit_code=zero',
    'exit_code<=1',
    'exit_code=1.5',
    'isolation>=strong',
    'isolation<=none',
    'isolation=',
    'networking=no',
    'private_rootfs=yes',
    'mem_mb=256',
    'mem_mb>=256',
    'mem_mb<=much',
    'mem_mb<=-1',
    'mem_mb<=1e3',
    'unknown=1',
    'constructor=1',
    '__proto__=1',
    '=1',
    '',
  ])('%j is wrong usage', (text) => {
    expect(() => parseRequirement(text)).toThrow(UsageError);
  });

  test.each(['label', 'label=', 'label>=x'])('is refused, and the message states the correct form: %j', (text) => {
    expect(() => parseRequirement(text)).toThrow('it must be label=TEXT');
  });

  test('is listed with its form in the help', () => {
    expect(requirementForms()).toContain('mem_mb<=N');
  });
});
