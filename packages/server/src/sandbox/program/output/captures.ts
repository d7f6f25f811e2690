/** Records both output streams of a released program from the pipes of its cell. */
import type { ExecutorOutput } from '@vouchbox/protocol';
import type { OutputSink } from '../../sandbox.ts';
import { OutputCapture } from './output.ts';
import type { Pipes } from './pipes.ts';

export class Captures {
  readonly #stdout: OutputCapture;
  readonly #stderr: OutputCapture;

  /** Starts to read. The records of each stream go to the sink in order. */
  constructor(pipes: Pipes, sink: OutputSink) {
    this.#stdout = new OutputCapture((records, cut) => sink('stdout', records, cut));
    this.#stderr = new OutputCapture((records, cut) => sink('stderr', records, cut));
    pipes.stdout.on('data', (chunk: Buffer) => this.#stdout.write(chunk));
    pipes.stderr.on('data', (chunk: Buffer) => this.#stderr.write(chunk));
  }

  /** Ends both recordings and returns the observations of each stream. Both streams must have ended. */
  end(): ExecutorOutput {
    return { stdout: this.#stdout.end(), stderr: this.#stderr.end() };
  }
}
