/** Measures the processor time of a bare program, and of everything that this process has started. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The kernel's count of children's processor time is exact once the children have been waited for. */
const TIMES = `import json, resource, subprocess, sys
words, stdin, times = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for _ in range(times):
    subprocess.run(words, input=stdin.encode(), stdout=subprocess.DEVNULL, check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print((usage.ru_utime + usage.ru_stime) * 1000)`;

/** The processor time, in milliseconds, of this many runs of a command. Each run must succeed. */
export async function bareProcessor(words: readonly string[], stdin = '', times = 1): Promise<number> {
  const given = ['-c', TIMES, JSON.stringify(words), stdin, String(times)];
  return Number((await run('/usr/bin/python3', given)).stdout);
}

const ticksPerSecond = 100;

/** The processor time, in milliseconds, of all descendants, including those that were waited for. proc_pid_stat(5). */
export function startedProcessor(): number {
  const ticks = descendantsOf('self').map((pid) => ticksOf(pid).together);
  return (ticks.reduce((sum, each) => sum + each, ticksOf('self').children) * 1000) / ticksPerSecond;
}

function descendantsOf(parent: string): string[] {
  try {
    const children = readdirSync(`/proc/${parent}/task`).flatMap((task) =>
      readFileSync(`/proc/${parent}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
    );
    return children.flatMap((pid) => [pid, ...descendantsOf(pid)]);
  } catch {
    return [];
  }
}

function ticksOf(pid: string): { readonly together: number; readonly children: number } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15).map(Number);
    return { together: user + system + childUser + childSystem, children: childUser + childSystem };
  } catch {
    return { together: 0, children: 0 };
  }
}
