/** Hostile code from a pack, run in a template before it makes copies, reaches nothing but the cells of that template. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { ReservedCell } from '../../cell/runtime.ts';
import { NotReadyInTime } from '../../sandbox.ts';
import { launcherConfiguration } from './configuration.ts';
import { useCells } from './launched-cells.fixture.ts';
import { Launcher } from './launcher.ts';
import { PYTHON_TEMPLATE } from './runtime.ts';
import { tried } from './trial.ts';

const { cellOptions, groupNames, reserveCell } = useCells();

/** A launcher whose template runs this code before it does anything else, as a module of a pack could. */
async function hostile(code: string) {
  const options = await cellOptions({ ...reserveCell(), language: 'python', owner: 'owner' });
  const [python = '', isolated = '', unbuffered = '', file = ''] = PYTHON_TEMPLATE.arguments;
  const hex = Buffer.from(code).toString('hex');
  const words = `exec(bytes.fromhex("${hex}")); exec(open("${file}").read())`;
  const template = { ...PYTHON_TEMPLATE, arguments: [python, isolated, unbuffered, '-c', words] };
  const reserved: ReservedCell[] = [];
  const launcher = new Launcher({
    program: options.runtime.path,
    configuration: launcherConfiguration(options, template),
    readyMilliseconds: 10_000,
    silentMilliseconds: 5_000,
    reserve: () => {
      reserved.push(reserveCell());
      return reserved.at(-1) as ReservedCell;
    },
  });
  return { launcher, template: () => reserved.at(-1) as ReservedCell };
}

/** Watches for the processes that make cells, stops each that it may stop, and reports which of the others it can inspect. */
const STALK = `
import os, signal
def filters(pid):
    return [line.split()[1] for line in open('/proc/%d/status' % pid) if line.startswith('Seccomp:')]
def looks_into(pid):
    try:
        os.listdir('/proc/%d/fd' % pid), os.listdir('/proc/%d/root' % pid), os.close(os.open('/proc/%d/mem' % pid, os.O_RDONLY))
        return True
    except OSError:
        return False
def stop(pid):
    try:
        os.kill(pid, signal.SIGSTOP)
        return True
    except OSError:
        return False
if os.fork() == 0:
    told = open('/work/told', 'a', 1)
    last = os.getpid()
    while True:
        for pid in filter(stop, range(last + 1, last + 7)):
            told.write('stopped\\n')
            for each in sorted(int(name) for name in os.listdir('/proc') if name.isdigit()):
                try:
                    if each > last and filters(each) == ['0'] and looks_into(each): told.write('looked into one without a filter\\n')
                except OSError:
                    pass
                last = max(last, each)
            os.kill(pid, signal.SIGCONT)
`;

it('a hostile template sees no process without a system call filter, even while cells are made from it', async () => {
  const { launcher, template } = await hostile(STALK);
  await using _ = launcher;
  for (let at = 0; at < 24; at++) {
    const cell = reserveCell();
    const made = await launcher.make({ id: cell.id, rootUid: cell.rootUid, accesses: '' });
    cell.group.kill();
    made.forget();
    await made.gone;
  }
  const [, pid] = template().group.members();
  const told = new Set(readFileSync(`/proc/${pid}/root/work/told`, 'utf8').trim().split('\n'));
  expect([...told]).toEqual(['stopped']);
});

/** Claims to have made each copy, keeps everything that it is given for the copy, and stays in the groups of the copy's cell. */
const LIE = `
import os, socket, time
launcher = socket.socket(fileno=51)
launcher.send(b'u')
FIRST_GROUP = 12
while True:
    request, files, *_ = socket.recv_fds(launcher, 1, 32)
    if request == b'': os._exit(0)
    if os.fork() == 0:
        for group in files[FIRST_GROUP:]: os.write(group, b'0')
        time.sleep(1000)
    launcher.send(b'd')
`;

it('a hostile template that makes no copies is ended together with its launcher', async () => {
  const { launcher, template } = await hostile(LIE);
  const cell = { reserve: reserveCell, readyMilliseconds: 500 };
  await expect(tried(launcher, cell)).rejects.toThrow(NotReadyInTime);
  expect(template().group.members()).toEqual([]);
  expect(groupNames()).toEqual([]);
});
