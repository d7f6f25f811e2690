/**
 * Run by `user-cells.test.ts` as an ordinary user inside a user namespace: makes a cell of each language below the v1 groups
 * given as JSON, and prints what the programs wrote.
 */
import { mkdirSync } from 'node:fs';
import { LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { ConfinedCells } from '../../cell/cells.ts';
import { launcherRuntime } from '../../classes/namespace/runtime.ts';
import { systemPack } from '../../packs/system-pack.ts';
import type { V1Paths } from '../cgroup/cgroup.ts';
import { groupRootV1 } from '../cgroup/group-v1.ts';

const [directory = '', given = ''] = process.argv.slice(2);
const PROGRAMS = {
  bash: 'id -u; touch /dev/null && echo changed; echo into >/dev/null && echo written; cat /proc/kallsyms /proc/self/uid_map',
  python: 'import os; print(os.getuid(), open("/dev/urandom", "rb").read(4) != b"")',
} as const;

mkdirSync(directory, { mode: 0o711 });
const groups = groupRootV1(JSON.parse(given) as Omit<V1Paths, 'all'>, 'cells', null);
await using cells = new ConfinedCells({
  runtime: await launcherRuntime(groups),
  packs: [await systemPack()],
  groups,
  directory,
  workBytes: 2 ** 24,
  hostPostureSha256: null,
  loopback: false,
  readyMilliseconds: 30_000,
});
const said: Record<string, string> = {};
for (const language of ['bash', 'python'] as const) {
  await using cell = await cells.prepare({ language, runtime: null });
  const program = { language, code: PROGRAMS[language], stdin: null, args: [], env: {}, files: [], outputs: [] };
  const loaded = await cell.handOver({ ...program, limits: LIMIT_DEFAULTS });
  said[language] = '';
  const running = loaded.release((_, records) => {
    for (const { text } of records) said[language] += `${text}\n`;
  });
  await running.collect();
}
process.stdout.write(JSON.stringify(said));
