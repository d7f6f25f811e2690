/**
 * `npm run newcomer`: tries a newcomer's first minutes on a fresh Debian 12 with only Debian's own Node and npm: the quick
 * start in a copy of this tree, and then a command. Needs root, `mmdebstrap` and a network. Takes two minutes.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copySources } from '../hosts/checkout.ts';
import { inRoot, makeCleanRoot } from './clean-root.ts';

const FIRST_MINUTES = `cd /root/vouchbox
echo "Node $(node --version), npm $(npm --version)"
npm run quickstart -- --once && echo 'print(6 * 7)' > answer.py && [ "$(npx --no vouchbox run answer.py)" = 42 ]`;

const work = mkdtempSync(join(tmpdir(), 'svc-newcomer-'));
try {
  const root = join(work, 'root');
  process.stdout.write("making a Debian 12 with Debian's nodejs and npm\n");
  const npmSettings = makeCleanRoot(root, ['ca-certificates', 'nodejs', 'npm']);
  mkdirSync(join(root, 'root/vouchbox'));
  copySources(join(root, 'root/vouchbox'));
  const [command, ...words] = inRoot(root);
  const { status } = spawnSync(command, [...words, 'sh', '-c', FIRST_MINUTES], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', ...npmSettings },
  });
  process.stdout.write(status === 0 ? 'a newcomer gets a result\n' : `a newcomer is left alone: ${status}\n`);
  process.exitCode = status === 0 ? 0 : 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
