/**
 * Run by `one-user-cells.test.ts` as an ordinary user who is root of a user namespace where nobody else is mapped: runs the
 * programs given as JSON, each in a cell, and prints how each program ended and what it wrote.
 */
import { mkdirSync } from 'node:fs';
import { type Language, LIBRARIES_FILE, LIMIT_DEFAULTS, type RequestedLimits } from '@vouchbox/protocol';
import { ConfinedCells } from '../../cell/cells.ts';
import { launcherRuntime } from '../../classes/namespace/runtime.ts';
import { systemPack } from '../../packs/system-pack.ts';
import { processTrees } from '../cgroup/process-tree.ts';

interface Given {
  readonly language: Language;
  readonly code: string;
  readonly limits?: Partial<RequestedLimits>;
  /** The archive of the program's libraries, in base64. */
  readonly libraries?: string;
}

const [directory = '', given = ''] = process.argv.slice(2);
mkdirSync(directory, { mode: 0o711 });
const groups = processTrees();
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
const ends = await Promise.all((JSON.parse(given) as Given[]).map(run));
process.stdout.write(JSON.stringify(ends));

async function run({ language, code, limits, libraries }: Given) {
  await using cell = await cells.prepare({ language, runtime: null, hasLibraries: libraries !== undefined });
  const files = libraries === undefined ? [] : [{ path: LIBRARIES_FILE, content: Buffer.from(libraries, 'base64') }];
  const program = { language, code, stdin: null, args: [], env: {}, files, outputs: [] };
  const loaded = await cell.handOver({ ...program, limits: { ...LIMIT_DEFAULTS, ...limits } });
  let output = '';
  const running = loaded.release((_, records) => {
    for (const { text } of records) output += `${text}\n`;
  });
  const { ending, usage, violations } = await running.collect();
  return { output, ending, usage, violations, held: loaded.held, posture: loaded.posture };
}
