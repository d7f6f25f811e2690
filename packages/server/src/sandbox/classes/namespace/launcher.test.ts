import { readFileSync, readlinkSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { within } from '../../../ground/waiting/within.ts';
import { sectionsOf } from '../../cell/observe/guest-report.ts';
import type { CellOptions, ReservedCell } from '../../cell/runtime.ts';
import { type KernelPlan, type KernelReadings, UNLIMITED } from '../../kernel/cgroup/cgroup.ts';
import { launcherConfiguration, type Template } from './configuration.ts';
import { measured, readingWord, writingWord } from './group-words.ts';
import { useCells } from './launched-cells.fixture.ts';
import { Launcher } from './launcher.ts';
import { PYTHON_TEMPLATE } from './runtime.ts';
import type { LaunchedCell, LauncherOptions } from './serving.ts';

const { cellOptions, groupNames } = useCells();

const MIB = 1024 * 1024;
const LIMITS = `FSIZE=${MIB} CPU=5 NPROC=9`;

function launcherFor(
  options: CellOptions,
  change: (lines: readonly string[]) => readonly string[] = (lines) => lines,
  more: Partial<LauncherOptions> & { readonly template?: Template } = {},
) {
  const configuration = change(launcherConfiguration(options, more.template ?? null));
  return new Launcher({
    program: options.runtime.path,
    configuration,
    readyMilliseconds: 10_000,
    silentMilliseconds: 5_000,
    ...more,
  });
}

/** A request to the launcher for a cell. */
const requestOf = ({ id, rootUid }: CellOptions) => ({ id, rootUid, accesses: '' });

describe('a launcher', () => {
  it('makes a process in the group of a cell, and reports the end of the process', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const made = await launcher.make(requestOf(options));
    expect(options.group.members()).toContain(made.pid);
    options.group.kill();
    await made.over;
  });

  it('reports what the kernel says about the cell', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const { pid, report } = await launcher.make(requestOf(options));
    const sections = sectionsOf(report);
    expect(sections.get('init/status')).toMatch(new RegExp(`^Pid:\\s+${pid}$`, 'm'));
    expect(sections.get('status')).toMatch(new RegExp(`^PPid:\\s+${pid}$`, 'm'));
    expect(sections.get('mountinfo')).toBe(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));
    for (const name of ['mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup']) {
      expect(sections.get(`ns/${name}`)).toBe(`${readlinkSync(`/proc/${pid}/ns/${name}`)}\n`);
    }
  });

  it('keeps the process and the control groups of an ended cell until the service forgets the cell', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const { pid, over, gone, forget } = await launcher.make(requestOf(options));
    options.group.kill();
    await over;
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^State:\s+Z/m);
    expect(groupNames()).toContain(options.id);
    forget();
    expect(await gone).toBe(true);
    expect(processExists(pid)).toBe(false);
    expect(groupNames()).not.toContain(options.id);
  });

  it('sets limits on a waiting cell and on its groups, and reads the limits back', async () => {
    const options = await cellOptions();
    const { plan } = options.group;
    await using launcher = launcherFor(options);
    const made = await launcher.make(requestOf(options));
    const readings = plan.readings as KernelReadings;
    const limits = { memoryBytes: 64 * MIB, processes: 7 };
    const writings = plan.toLimit(limits, UNLIMITED).map(writingWord);
    const report = await made.hold(
      [LIMITS, ...writings, readingWord(readings.memoryLimitBytes), readingWord(readings.processesLimit)].join(' '),
    );
    const sections = sectionsOf(report);
    expect(measured(sections, readings.memoryLimitBytes, 'memoryLimitBytes')).toBe(limits.memoryBytes);
    expect(measured(sections, readings.processesLimit, 'processesLimit')).toBe(limits.processes);
    expect(sections.get('process limits')).toBe(`${LIMITS}\n`);
    const [interpreter] = options.group.members().filter((pid) => pid !== made.pid);
    const held = readFileSync(`/proc/${interpreter}/limits`, 'utf8');
    expect(held).toMatch(new RegExp(`^Max file size +${MIB} +${MIB} `, 'm'));
    expect(held).toMatch(/^Max cpu time +5 +6 /m);
    expect(held).toMatch(/^Max processes +9 +9 /m);
  });

  it.each([
    ['the kernel refuses', ({ readings }: KernelPlan) => `${readingWord(readings.processesLimit)}=-7`, 'EINVAL'],
    ['is not a file name', () => '0/../tasks', 'EINVAL'],
    ['the group does not have', () => '0/no-such-file', 'ENOENT'],
  ])('reports the error of a limit file that %s', async (_title, access, code) => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const made = await launcher.make(requestOf(options));
    await expect(made.hold(`${LIMITS} ${access(options.group.plan as KernelPlan)}`)).rejects.toMatchObject({ code });
  });

  it('ends a cell whose interpreter was killed, and refuses to set limits on that cell', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const { pid, over, hold } = await launcher.make(requestOf(options));
    for (const member of options.group.members()) if (member !== pid) process.kill(member, 'SIGKILL');
    await over;
    expect(options.group.members()).toEqual([]);
    await expect(hold(LIMITS)).rejects.toMatchObject({ code: 'ESRCH' });
  });

  it.each([
    ['one is missing', 'FSIZE=1 CPU=5'],
    ['one comes twice', `${LIMITS} CPU=6`],
    ['one is not in the table', `${LIMITS} WALL=1`],
  ])('refuses limits if %s', async (_title, rows) => {
    const options = await cellOptions();
    await using launcher = launcherFor(options);
    const { hold } = await launcher.make(requestOf(options));
    await expect(hold(rows)).rejects.toThrow(/malformed request/);
  });

  it('refuses a cell whose group already exists, and makes the next cell', async () => {
    const options = await cellOptions();
    const taken = await cellOptions();
    taken.group.make();
    await using launcher = launcherFor(options);
    await expect(launcher.make(requestOf(taken))).rejects.toThrow(/cannot make its groups: File exists/);
    const made = await launcher.make(requestOf(options));
    options.group.kill();
    await made.over;
  });

  it('refuses a cell that cannot be started, and leaves nothing of that cell', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) =>
      lines.map((line) => (line === 'argument /bin/bash' ? 'argument /nowhere' : line)),
    );
    await expect(launcher.make(requestOf(options))).rejects.toThrow(/cannot start \/nowhere/);
    expect(groupNames()).not.toContain(options.id);
  });

  it('ends with its cells when it is killed, and is started again for the next cell', async () => {
    const first = await cellOptions();
    await using launcher = launcherFor(first);
    const { pid, over, gone } = await launcher.make(requestOf(first));
    process.kill(parentOf(pid), 'SIGKILL');
    expect([await over, await gone]).toEqual([expect.any(Error), false]);
    await expect.poll(() => first.group.members()).toEqual([]);
    const second = await cellOptions();
    const made = await launcher.make(requestOf(second));
    expect(second.group.members()).toContain(made.pid);
    second.group.kill();
    await made.over;
  });

  it.each([
    ['makes a cell', async (launcher: Launcher) => launcher.make(requestOf(await cellOptions()))],
    ['sets limits', async (_: Launcher, cell: LaunchedCell) => cell.hold(LIMITS)],
    [
      'has to tell the end of a program',
      async (_: Launcher, { over }: LaunchedCell) => {
        const said = await over;
        if (said instanceof Error) throw said;
      },
    ],
  ])(
    'a launcher that hangs when it %s is killed with its cells, and the next cell gets another launcher',
    async (_title, ask) => {
      const options = await cellOptions();
      await using launcher = launcherFor(options, (lines) => lines, { silentMilliseconds: 200 });
      const cell = await launcher.make(requestOf(options));
      const hung = parentOf(cell.pid);
      process.kill(hung, 'SIGSTOP');
      cell.forget();
      await expect(ask(launcher, cell)).rejects.toThrow('the launcher was killed: it had not answered for 0.4 s');
      await expect.poll(() => [processExists(hung), options.group.members()]).toEqual([false, []]);
      const next = await cellOptions();
      const made = await launcher.make(requestOf(next));
      next.group.kill();
      await made.over;
    },
  );

  it('a launcher whose template hangs is killed together with the template, and another launcher makes the next cell', async () => {
    const options = await cellOptions({ language: 'python' });
    const reserved = [options.reserve(), options.reserve()];
    const [first] = reserved;
    const reserve = () => reserved.shift() as ReservedCell;
    const more = { silentMilliseconds: 200, template: PYTHON_TEMPLATE, reserve };
    await using launcher = launcherFor(options, (lines) => lines, more);
    const { pid, forget, gone } = await launcher.make(requestOf(options));
    options.group.kill();
    forget();
    await gone;
    const template = first?.group.members().at(-1) as number;
    process.kill(template, 'SIGSTOP');
    const hung = await cellOptions({ language: 'python' });
    await expect(launcher.make(requestOf(hung))).rejects.toThrow(
      'the launcher was killed: it had not answered for 0.4 s',
    );
    await expect.poll(() => [processExists(template), hung.group.members()]).toEqual([false, []]);
    const next = await cellOptions({ language: 'python' });
    const made = await launcher.make(requestOf(next));
    expect(made.pid).not.toBe(pid);
    next.group.kill();
    await made.over;
  });

  it('ends, together with all of its cells, when its template ends', async () => {
    const options = await cellOptions({ language: 'python' });
    const reserved = options.reserve();
    const more = { template: PYTHON_TEMPLATE, reserve: () => reserved };
    await using launcher = launcherFor(options, (lines) => lines, more);
    const made = await launcher.make(requestOf(options));
    process.kill(reserved.group.members().at(-1) as number, 'SIGKILL');
    expect(await made.over).toMatchObject({ message: expect.stringContaining('the template ended') });
    await expect.poll(() => options.group.members()).toEqual([]);
    await expect.poll(() => groupNames()).not.toContain(reserved.id);
  });

  it('may stay silent while the service expects no answer, even for as long as a program runs', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) => lines, { silentMilliseconds: 100 });
    const cell = await launcher.make(requestOf(options));
    await cell.hold(LIMITS);
    // Ten periods of silence.
    expect(await within(cell.over, 1000, 'still there')).toBe('still there');
    options.group.kill();
    expect(await cell.over).not.toBeInstanceOf(Error);
  });

  it('a launcher that hangs is killed when it is closed', async () => {
    const options = await cellOptions();
    const launcher = launcherFor(options, (lines) => lines, { silentMilliseconds: 200 });
    const { pid } = await launcher.make(requestOf(options));
    const hung = parentOf(pid);
    process.kill(hung, 'SIGSTOP');
    await launcher[Symbol.asyncDispose]();
    expect(processExists(hung)).toBe(false);
  });

  it('is replaced by a new process after many cells, and ends with its last cell', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) => lines, { cellsOfOneMax: 1 });
    const first = await launcher.make(requestOf(options));
    const old = parentOf(first.pid);
    await expect
      .poll(async () => {
        const another = await cellOptions();
        const next = await launcher.make(requestOf(another));
        const parent = parentOf(next.pid);
        another.group.kill();
        next.forget();
        await next.gone;
        return parent;
      })
      .not.toBe(old);
    expect(options.group.members()).toContain(first.pid);
    options.group.kill();
    await first.over;
    expect(processExists(old)).toBe(true);
    first.forget();
    await expect.poll(() => processExists(old)).toBe(false);
  });

  it('a launcher that cannot be configured refuses with its reason', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) => [...lines, 'nonsense 1']);
    await expect(launcher.make(requestOf(options))).rejects.toThrow(/unknown keyword: nonsense/);
  });

  it('refuses to mount a tree whose path is a symbolic link', async () => {
    const options = await cellOptions();
    await using launcher = launcherFor(options, (lines) => [...lines, 'tree 7 /proc/self\t/usr']);
    await expect(launcher.make(requestOf(options))).rejects.toThrow(/\/proc\/self is a symbolic link/);
  });

  it('makes no cell once it is closed', async () => {
    const options = await cellOptions();
    const launcher = launcherFor(options);
    await launcher[Symbol.asyncDispose]();
    await expect(launcher.make(requestOf(options))).rejects.toThrow(/closed/);
  });
});

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
