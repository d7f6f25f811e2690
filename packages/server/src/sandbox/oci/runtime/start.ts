/** How process 1 of a cell comes to be: by an OCI runtime here, by a launcher in `../../launcher`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Pipes, spawnWithPipes } from '../../output/pipes.ts';
import { bundleConfig } from '../bundle.ts';
import { bundleOptions, type CellOptions } from '../cell-options.ts';

/** A cell whose process 1 runs, or is about to. */
export interface Start {
  /** Resolves once the cell's pipes are ours. Rejects where it ended before; nothing of it is then left. */
  readonly started: Promise<StartedProcess>;
  /** Resolves once nothing of the cell is alive. Never rejects. */
  readonly exited: Promise<void>;
  /** Ends it, where it takes too long to start. */
  readonly abort: () => void;
  /** What it printed about its own failure, for an operator. */
  readonly said: () => string;
  /** Says that nobody looks at the process any more: its id may be given away again. */
  readonly forget: () => void;
}

export interface StartedProcess {
  /** On the host: of the runtime, or of process 1 itself. */
  readonly pid: number;
  readonly pipes: Pipes;
  /** Directories of the cell as the host reaches them, before anything of a job is in it. */
  readonly work: string;
  readonly report: string;
}

/** Writes the bundle, and has the cell's own mounts made by what then becomes the runtime. */
export function startUnderRuntime(options: CellOptions): Start {
  const { directory, runtime } = options;
  mkdirSync(join(directory, 'cell'), { recursive: true, mode: 0o711 });
  writeFileSync(join(directory, 'config.json'), JSON.stringify(bundleConfig(bundleOptions(options))));
  const command = [...runtime.stage(options), ...runtime.command(options)];
  const { child, pipes, said } = spawnWithPipes(command, { env: {}, cwd: '/' });
  // The cell's tmpfs is only in its own mount namespace; an open directory outlives that namespace.
  const cell = `/proc/${child.pid}/root${join(directory, 'cell')}`;
  return {
    started: pipes.then((ours) => ({
      pid: child.pid as number,
      pipes: ours,
      work: join(cell, 'work'),
      report: join(cell, 'report'),
    })),
    exited: new Promise((resolve) => child.once('close', () => resolve()).once('error', () => resolve())),
    abort: () => child.kill('SIGKILL'),
    said,
    forget: () => {},
  };
}
