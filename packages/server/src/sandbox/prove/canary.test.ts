/** Canaries on a slow host: real cells, of which the first get too little time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Language } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Candidate } from '../classes/candidate.ts';
import { openNamespaceCells } from '../classes/open-cells.ts';
import { runCanaries, runLateAgain } from './canary.ts';
import { prove } from './preflight.ts';

const directory = mkdtempSync(join(tmpdir(), 'svc-canary-test-'));
let cells: Candidate;

beforeAll(async () => {
  const options = { packsDirectory: null, workBytes: 1024 * 1024, hostPostureSha256: null };
  cells = await openNamespaceCells({ choice: 'auto', instance: directory, ...options });
});
afterAll(async () => {
  await cells[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** Makes cells. The first `lateOnes` cells of each language have no time to become ready. */
function slowAtFirst(lateOnes: number) {
  const made = new Map<Language, number>();
  return {
    made,
    prepare: (language: Language) => async (readyMilliseconds: number) => {
      const before = made.get(language) ?? 0;
      made.set(language, before + 1);
      if (before >= lateOnes) return await cells.prepare({ language, runtime: null, readyMilliseconds });
      // This repeats until a cell is late, because a cell may become ready before its deadline is noticed.
      for (;;) await (await cells.prepare({ language, runtime: null, readyMilliseconds: 0 }))[Symbol.asyncDispose]();
    },
  };
}

describe('a canary that was late', () => {
  it('runs a second time, and its language is kept if it then passes', async () => {
    const host = slowAtFirst(1);
    const first = await runCanaries(['bash', 'python'], host.prepare);
    expect(first).toMatchObject([
      { language: 'bash', isLate: true },
      { language: 'python', isLate: true },
    ]);
    const results = await runLateAgain(first, host.prepare);
    expect(results.map((result) => 'posture' in result)).toEqual([true, true]);
    expect([...host.made.values()]).toEqual([2, 2]);
  });

  it('ends all second tries if it is late again, because the others would be late, too', async () => {
    const host = slowAtFirst(2);
    const results = await runLateAgain(await runCanaries(['bash', 'python'], host.prepare), host.prepare);
    expect(results.map((result) => 'posture' in result)).toEqual([false, false]);
    expect(Object.fromEntries(host.made)).toEqual({ bash: 2, python: 1 });
  });

  it('runs a second time, unlike a canary that failed before its deadline', async () => {
    const host = slowAtFirst(0);
    const first = await runCanaries(['bash'], host.prepare);
    expect(await runLateAgain(first, host.prepare)).toEqual(first);
    expect([...host.made.values()]).toEqual([1]);
  });
});

it('a late canary removes no language if the class was chosen by name', async () => {
  const host = slowAtFirst(1);
  const slow: Candidate = {
    ...cells,
    prepare: (request) => host.prepare(request.language)(request.readyMilliseconds ?? 60_000),
  };
  const { provider } = await prove(slow);
  expect([...provider.languages].toSorted()).toEqual(['bash', 'node', 'python', 'typescript']);
});
