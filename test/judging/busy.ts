/** Starts processes that keep processors busy, each taking a whole processor if it can. Disposing ends them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const BURNS = `import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1000000): pass`;

export function keepBusy(processes: number): AsyncDisposable {
  const words = ['-c', BURNS, String(process.pid)];
  const children = Array.from({ length: processes }, () => spawn('/usr/bin/python3', words, { stdio: 'ignore' }));
  return {
    async [Symbol.asyncDispose]() {
      for (const child of children) {
        const ended = once(child, 'exit');
        if (child.kill('SIGKILL')) await ended;
      }
    },
  };
}
