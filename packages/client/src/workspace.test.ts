import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { RunOptions, RunResult } from './run.ts';
import { openWorkspace } from './workspace.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const recordOf = ([path, text]: [string, string]) => ({
  path,
  sha256: sha256(Buffer.from(text)),
  size_bytes: text.length,
});

/** A correct service's result for a step that got the files in `input` and left the files in `output`. */
function ended(input: Record<string, string>, output: Record<string, string>, others: object = {}): RunResult {
  const files = new Map(Object.entries(output).map(([path, text]) => [path, new TextEncoder().encode(text)]));
  const receipt = {
    receipt_sha256: 'r',
    input_artifacts: Object.entries(input).map(recordOf),
    output_artifacts: Object.entries(output).map(recordOf),
  };
  const outcome = { job_id: 'job_1', status: 'succeeded', terminal_reason: 'exited', violations: [] };
  return { ...outcome, receipt_sha256: 'r', files, receipt, ...others } as unknown as RunResult;
}

/** A workspace whose steps have these results, and the options with which each step was run. */
function workspaceOf(...results: readonly RunResult[]) {
  const given: RunOptions[] = [];
  const run = async (_program: string, options: RunOptions) => results[given.push(options) - 1] as RunResult;
  const verify = async () => ({ receipt: results[0]?.receipt }) as never;
  return { workspace: openWorkspace({ run, verify, sha256 }), given };
}

describe('the files of a workspace', () => {
  test('are written, read, listed in order and removed', () => {
    const { workspace } = workspaceOf();
    workspace.write('b', new Uint8Array([1]));
    workspace.write('a/c.txt', 'é');
    expect(workspace.paths()).toEqual(['a/c.txt', 'b']);
    expect(workspace.read('a/c.txt')).toEqual(new TextEncoder().encode('é'));
    expect([workspace.remove('b'), workspace.remove('b'), workspace.read('b')]).toEqual([true, false, undefined]);
  });

  test.each(['', '/a', 'a/', 'a//b', '.', './a', 'a/..', '../a', 'a\\b'])('cannot have the path %j', (path) => {
    expect(() => workspaceOf().workspace.write(path, '')).toThrow(TypeError);
  });

  test("are copies, so that they stay the same if the caller's bytes change later", () => {
    const { workspace } = workspaceOf();
    const bytes = new Uint8Array([1]);
    workspace.write('a', bytes);
    bytes[0] = 2;
    expect(workspace.read('a')).toEqual(new Uint8Array([1]));
  });

  test('have a common digest: that of the canonical JSON of their paths, digests and sizes', async () => {
    const { workspace } = workspaceOf();
    workspace.write('b', 'two');
    workspace.write('a', '1');
    const rows = [
      { path: 'a', sha256: sha256(Buffer.from('1')), size_bytes: 1 },
      { path: 'b', sha256: sha256(Buffer.from('two')), size_bytes: 3 },
    ];
    expect(await workspace.digest()).toBe(sha256(Buffer.from(JSON.stringify(rows))));
  });
});

describe('a step of a workspace', () => {
  test('gets the files that the previous step left', async () => {
    const { workspace, given } = workspaceOf(
      ended({ 'input/a': '1' }, { 'output/a': '1', 'output/b': '2' }),
      ended({ 'input/a': '1', 'input/b': '2' }, {}),
    );
    workspace.write('a', '1');
    const first = workspace.run('x');
    const second = workspace.run('y', { language: 'bash' });
    await Promise.all([first, second]);
    expect(given.map(({ files }) => Object.keys(files ?? {}))).toEqual([['input/a'], ['input/a', 'input/b']]);
    expect(workspace.paths()).toEqual([]);
    expect(workspace.steps.map(({ edited, wasKept }) => [edited, wasKept])).toEqual([
      [true, true],
      [false, true],
    ]);
    expect(workspace.steps[1]?.inputDigest).toBe(workspace.steps[0]?.outputDigest);
  });

  test.each([
    ['was ended by a limit', { status: 'timed_out', terminal_reason: 'wall_limit' }],
    ['was ended by a signal', { status: 'failed', terminal_reason: 'signaled' }],
    ['left more files than come back', { violations: [{ type: 'output_count', message: '' }] }],
    ['never ran', { receipt: { receipt_sha256: 'r' } }],
  ])('a step that %s leaves the files as they were', async (_what, others) => {
    const { workspace } = workspaceOf(ended({}, { 'output/b': '2' }, others));
    await workspace.run('x');
    expect([workspace.paths(), workspace.steps[0]?.wasKept]).toEqual([[], false]);
  });

  test.each([
    ['other input files than those sent', ended({ 'input/b': '1' }, {})],
    ['other output files than it gave', ended({}, { 'output/a': '1' }, { files: new Map() })],
  ])('a step whose receipt lists %s is refused, and changes nothing', async (what, result) => {
    const { workspace } = workspaceOf(result);
    await expect(workspace.run('x')).rejects.toThrow(what);
    expect([workspace.paths(), workspace.steps]).toEqual([[], []]);
  });

  test('is refused before any request if a workspace does not run its language', async () => {
    const { workspace, given } = workspaceOf();
    await expect(workspace.run('x', { language: 'ruby' })).rejects.toThrow(TypeError);
    expect(given).toEqual([]);
  });

  test('fails a later check if its receipt has changed', async () => {
    const first = ended({}, {});
    const { workspace } = workspaceOf(first);
    await workspace.run('x');
    await expect(workspace.verify()).resolves.toBeUndefined();
    Object.assign(first.receipt, { receipt_sha256: 'other' });
    await expect(workspace.verify()).rejects.toThrow('the receipt of job_1 changed since it ended');
  });
});
