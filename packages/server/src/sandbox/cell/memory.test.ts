/** A memory limit means the same in both classes, whatever their runtimes need for themselves. */

import { afterAll, beforeAll, describe, expect } from 'vitest';
import { quickTest as it, slowTest } from '../../../../../test/rig/form.ts';
import { CellsFixture, CLASSES } from './cells.fixture.ts';

const MIB = 1024 * 1024;
/** The memory of an interpreter, plus the memory that a runtime takes in addition for a larger program. */
const INTERPRETER_MIB = 24;

let cells: CellsFixture;
beforeAll(async () => {
  cells = await CellsFixture.open();
});
afterAll(() => cells[Symbol.asyncDispose]());

/** A program that writes to every page of this many MiB. */
const touch = (mib: number) => `print(len(bytearray(${mib} << 20)) >> 20)`;

describe.each(CLASSES)('a memory limit in the %s class', { tags: ['Submission-16', 'Receipt-18'] }, (choice) => {
  slowTest.each([64, 256, 1024])('a limit of %d MiB bounds a program, and is reported as enforced', async (mem_mb) => {
    const much = mem_mb - INTERPRETER_MIB;
    const within = await cells.run(choice, 'python', touch(much), { mem_mb });
    expect(within).toMatchObject({ ending: { kind: 'exited', exit_code: 0 }, stdout: `${much}\n`, violations: [] });
    expect(within.held.effective_limits.mem_mb).toBe(mem_mb);
    expect(within.held.limit_enforcement.mem_mb).toBe(true);
    expect(within.usage.memory_peak_bytes).toBeGreaterThan(much * MIB);
    expect(within.usage.memory_peak_bytes).toBeLessThanOrEqual(mem_mb * MIB);

    const beyond = await cells.run(choice, 'python', touch(mem_mb), { mem_mb });
    expect(beyond).toMatchObject({ ending: { kind: 'memory_limit' }, violations: [{ type: 'memory', limit: mem_mb }] });
    expect(beyond.usage.memory_peak_bytes).toBeLessThanOrEqual(mem_mb * MIB);
  });
});

it.each(CLASSES)(
  'a program in the %s class finds its limit in the control group file, and cannot change it',
  async (choice) => {
    const refused = choice === 'gvisor' ? 'EACCES' : 'EROFS';
    const look = `
const { existsSync, readFileSync, unlinkSync, writeFileSync } = require('node:fs');
const refusal = (attempt) => { try { attempt(); } catch (error) { return error.code; } };
const [v2, v1] = ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'];
const file = existsSync(v2) ? v2 : v1;
const said = [process.constrainedMemory(), Number(readFileSync(file))];
console.log(JSON.stringify([said, refusal(() => writeFileSync(file, 'max')), refusal(() => unlinkSync(file))]));
`;
    const { stdout } = await cells.run(choice, 'node', look, { mem_mb: 200 });
    expect(JSON.parse(stdout)).toEqual([[200 * MIB, 200 * MIB], refused, refused]);
  },
);
