/**
 * Python with one library: tests of packs build this pack, unless they are about the shipped packs. Each time its
 * interpreter starts, the pack reports its user, its rights and what it sees.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Recipe } from './build/recipe.ts';

/** The file with which the pack tries to mark every root directory that it finds. */
export const MARK = join(tmpdir(), 'svc-told-by-a-pack');

/** Runs at each start of the pack's interpreter. A copy of an interpreter inherits the report (`told`) of the original. */
const TOLD = `
import os
def tried(call, *words):
    try:
        return call(*words)
    except Exception as error:
        return type(error).__name__
def leave_marks():
    left = []
    for root in ['/proc/%s/root' % each for each in os.listdir('/proc') if each.isdigit() and int(each) != os.getpid()]:
        try:
            with open(root + '${MARK}', 'w') as file:
                file.write(str(os.getuid()))
            left.append(root)
        except OSError:
            pass
    return left
status = dict(line.split(':\\t', 1) for line in open('/proc/self/status').read().splitlines() if ':\\t' in line)
told = {
    'users': [*os.getresuid(), *os.getresgid()],
    'capabilities': sorted({value for name, value in status.items() if name.startswith('Cap')}),
    'no_new_privs': status.get('NoNewPrivs'), 'seccomp': status.get('Seccomp'),
    'namespaces': {each: tried(os.readlink, '/proc/self/ns/' + each) for each in ('mnt', 'pid', 'net', 'ipc', 'uts', 'user', 'cgroup')},
    'processes': len([each for each in os.listdir('/proc') if each.isdigit()]),
    'root': sorted(os.listdir('/')), 'name': os.uname().nodename,
    'shadow': tried(open, '/etc/shadow'), 'memory': tried(open, '/proc/1/mem', 'rb'),
    'environment': sorted(name for name in os.environ if name.startswith('SERVICE')),
    'marks': leave_marks(),
}
`;

export const TINY: Recipe = {
  name: 'tiny',
  version: '1',
  languages: ['python'],
  suite: 'bookworm',
  packages: ['python3-slugify'],
  files: {
    '/usr/lib/python3/dist-packages/told_by_pack.py': TOLD.trim().split('\n'),
    '/usr/lib/python3/dist-packages/telling.pth': ['import told_by_pack'],
  },
};
