import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Candidate } from '../candidate.ts';
import { openHostCells } from './host-cells.ts';

describe('development subprocesses', () => {
  afterEach(() => vi.restoreAllMocks());

  async function runOne(cells: Candidate): Promise<void> {
    await using cell = await cells.prepare({ language: 'bash', runtime: null });
    const program = { language: 'bash', code: 'true', stdin: null, args: [], env: {}, files: [], outputs: [] } as const;
    const loaded = await cell.handOver({ ...program, limits: LIMIT_DEFAULTS });
    const running = loaded.release(() => {});
    expect((await running.collect()).ending).toEqual({ kind: 'exited', exit_code: 0 });
  }

  test('closing the provider does not kill a process that has since got the process id of an ended job', async () => {
    const cells = await openCells();
    await runOne(cells);
    const kill = vi.spyOn(process, 'kill');
    await cells[Symbol.asyncDispose]();
    expect(kill).not.toHaveBeenCalled();
  });

  test('closing the provider ends a job that still runs', async () => {
    const cells = await openCells();
    const cell = await cells.prepare({ language: 'bash', runtime: null });
    const program = {
      language: 'bash',
      code: 'sleep 60',
      stdin: null,
      args: [],
      env: {},
      files: [],
      outputs: [],
    } as const;
    const loaded = await cell.handOver({ ...program, limits: LIMIT_DEFAULTS });
    const running = loaded.release(() => {});
    const collected = running.collect();
    await cells[Symbol.asyncDispose]();
    expect((await collected).ending).toEqual({ kind: 'signaled', signal: 'SIGKILL' });
  });

  function openCells(): Promise<Candidate> {
    const options = { instance: 'host-cells', packsDirectory: null, workBytes: 1024, hostPostureSha256: null };
    return openHostCells({ choice: 'subprocess', ...options });
  }
});
