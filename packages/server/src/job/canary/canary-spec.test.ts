import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CANARY_TENANT,
  canaryFindings,
  canaryLines,
  type ExecutionPredicate,
  outputEvidenceOf,
} from '@vouchbox/evidence';
import { LIMIT_CEILINGS, outputText, type RequestedLimits } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../../../../../test/rig/form.ts';
import { CLASSES } from '../../sandbox/cell/cells.fixture.ts';
import { openProvider } from '../../sandbox/prove/preflight.ts';
import type { Provider } from '../../sandbox/sandbox.ts';
import { canarySpec } from './canary-spec.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-canary-test-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const LANGUAGES = ['python', 'node', 'bash', 'typescript'] as const;

describe.each(CLASSES)('the program of a canary in a cell of class %s', (choice) => {
  let provider: Provider;
  beforeAll(async () => {
    const options = {
      packsDirectory: null,
      workBytes: 64 * 2 ** 20,
      hostPostureSha256: null,
      loopback: 'auto',
    } as const;
    ({ provider } = await openProvider({ choice, instance: join(directory, choice), ...options }));
  });
  afterAll(() => provider[Symbol.asyncDispose]());

  /** The findings that the canary's statement would state. The cell gets the limits in `planted`, not the requested ones. */
  async function findingsIn(language: (typeof LANGUAGES)[number], planted: Partial<RequestedLimits> = {}) {
    const asked = { ceilings: LIMIT_CEILINGS, minimum_isolation: provider.isolation_class };
    const spec = canarySpec({ name: 'system', languages: [language] }, asked);
    if (spec === null) throw new Error('there is no canary in this language');
    await using cell = await provider.prepare({ language, runtime: null });
    const files = spec.files.map((file) => ({
      path: file.path,
      content: Buffer.from('content_base64' in file ? file.content_base64 : '', 'base64'),
    }));
    const { code, args, limits } = spec;
    const program = { language, code, args, files, env: {}, stdin: null, outputs: [] };
    const loaded = await cell.handOver({ ...program, limits: { ...limits, ...planted } });
    let stdout = '';
    const running = loaded.release((stream, records) => {
      if (stream === 'stdout') for (const record of records) stdout += outputText(record);
    });
    const { ending } = await running.collect();
    const tried = canaryLines(stdout.trimEnd()) ?? [];
    const output = outputEvidenceOf({
      stdout: { texts: tried, records: tried.length },
      stderr: { texts: [], records: 0 },
    });
    const receipt = { terminal_reason: ending.kind, output, truncated: false };
    return canaryFindings({ tenant: CANARY_TENANT, also: { tried }, receipt } as unknown as ExecutionPredicate);
  }

  slowTest.each(LANGUAGES)('is refused every forbidden operation if %s starts it', async (language) => {
    const { tries, problem } = await findingsIn(language);
    expect(problem).toBeNull();
    expect(tries.length).toBeGreaterThanOrEqual(13);
  });

  test('finds a cell that allows more processes than it should', async () => {
    expect((await findingsIn('bash', { max_pids: 200 })).problem).toBe('it was not refused: processes (allowed)');
  });

  slowTest('finds a cell that allows more memory than it should', async () => {
    expect((await findingsIn('bash', { mem_mb: 512 })).problem).toBe('it was not refused: memory (allowed)');
  });
});

test('a pack without a known language has no canary', () => {
  const asked = { ceilings: LIMIT_CEILINGS, minimum_isolation: 'none' } as const;
  expect(canarySpec({ name: 'empty', languages: [] }, asked)).toBeNull();
});

test('a canary requests no more than the operator’s ceilings', () => {
  const ceilings = { ...LIMIT_CEILINGS, mem_mb: 64, max_pids: 16, wall_seconds: 2 };
  const spec = canarySpec({ name: 'system', languages: ['bash'] }, { ceilings, minimum_isolation: 'none' });
  expect(spec?.limits).toMatchObject({ mem_mb: 64, max_pids: 16, wall_seconds: 2 });
  expect(spec?.args).toEqual(['16', '96']);
});
