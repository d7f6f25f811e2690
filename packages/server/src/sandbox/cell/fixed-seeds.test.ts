/** Cells for reproducible jobs: the interpreters have the same hash seeds in every class and under every launcher. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Language, LIMIT_DEFAULTS, outputText } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copiedPython } from '../classes/namespace/copies.fixture.ts';
import { openProvider } from '../prove/preflight.ts';
import type { CellKind, Provider } from '../sandbox.ts';

const WAYS = {
  'the launcher': { choice: 'namespace', namespaceLauncher: 'fork' },
  crun: { choice: 'namespace', namespaceLauncher: 'crun' },
  gvisor: { choice: 'gvisor' },
  'a development subprocess': { choice: 'subprocess' },
} as const;

const ORDER = 'print({"a", "b", "c", "d", "e", "f", "g", "h"}, hash("a"))';

describe.each(Object.entries(WAYS))('a reproducible program run by %s', (name, way) => {
  const directory = mkdtempSync(join(tmpdir(), 'svc-seeds-test-'));
  let provider: Provider;
  beforeAll(async () => {
    const options = { packsDirectory: null, workBytes: 64 * 1024 * 1024, hostPostureSha256: null, loopback: 'auto' };
    ({ provider } = await openProvider({ instance: join(directory, 'cells'), ...options, ...way } as never));
  }, 120_000);
  afterAll(async () => {
    await provider[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true });
  });

  async function output(kind: Omit<CellKind, 'runtime'>, code: string): Promise<string> {
    await using cell = await provider.prepare({ runtime: null, ...kind });
    const program = { language: kind.language, code, stdin: null, args: [], env: {}, files: [], outputs: [] };
    const limits = { ...LIMIT_DEFAULTS, wall_seconds: 60, cpu_seconds: 30 };
    const loaded = await cell.handOver({ ...program, limits });
    let text = '';
    const running = loaded.release((_stream, records) => {
      for (const record of records) text += outputText(record);
    });
    await running.collect();
    return text;
  }

  const reproducible = (language: Language, code: string) => output({ language, reproducible: true }, code);

  it('sees a Python set in the same order in every run, unlike a program that is not reproducible', async () => {
    const first = await reproducible('python', ORDER);
    expect(await reproducible('python', ORDER)).toBe(first);
    // A random hash differs from the fixed one, except once in 2 to the power of 64 times.
    expect(await output({ language: 'python' }, ORDER)).not.toBe(first);
  });

  it('passes the fixed seeds to processes that it starts, too', async () => {
    const asked = `python3 -c 'import sys; print(sys.flags.hash_randomization)'; echo $PERL_HASH_SEED`;
    expect(await reproducible('bash', asked)).toBe('0\n0\n');
  });

  it('finds modules in the same places as any other program', async () => {
    const code = 'import sys; print([path for path in sys.path if path != ""])';
    expect(await reproducible('python', code)).toBe(await output({ language: 'python' }, code));
  });

  it('has its own kind of cell, and never gets a parked cell with another seed', () => {
    const kinds = [undefined, true as const].map(
      (asked) => provider.originOf({ language: 'python', runtime: null, reproducible: asked })?.kind,
    );
    expect(new Set(kinds).size).toBe(2);
  });

  it.runIf(name === 'the launcher')(
    'is started anew, although the owner’s other interpreters are copies of a template',
    async () => {
      const copied = await copiedPython(provider, 'asks-often');
      const [one, other] = [await output(copied, ORDER), await output(copied, ORDER)];
      expect(one).toBe(other);
      const kind = { ...copied, reproducible: true as const };
      expect(await output(kind, ORDER)).toBe(await reproducible('python', ORDER));
      const [asked, usual] = [kind, { language: 'python', runtime: null, reproducible: true } as const].map((of) => {
        const origin = provider.originOf(of);
        return { kind: origin?.kind, madeOf: origin?.madeOf() };
      });
      expect(asked).toEqual(usual);
      expect(asked?.madeOf).toBeTypeOf('string');
    },
    60_000,
  );
});
