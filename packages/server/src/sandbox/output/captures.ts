/** Records both output streams of a released program, from the pipes that were its cell's until then. */
import type { ExecutorOutput } from '@vouchbox/protocol';
import type { OutputSink } from '../sandbox.ts';
import { OutputCapture } from './output.ts';
import type { Pipes } from './pipes.ts';

export class Captures {
  readonly #stdout: OutputCapture;
  readonly #stderr: OutputCapture;

  /** Starts to read. What is recorded of each stream goes to the sink in the stream's order. */
  constructor(pipes: Pipes, sink: OutputSink) {
    this.#stdout = new OutputCapture((records, cut) => sink('stdout', records, cut));
    this.#stderr = new OutputCapture((records, cut) => sink('stderr', records, cut));
    pipes.stdout.on('data', (chunk: Buffer) => this.#stdout.write(chunk));
    pipes.stderr.on('data', (chunk: Buffer) => this.#stderr.write(chunk));
  }

  /** What was observed of each. The streams must have ended. */
  end(): ExecutorOutput {
    return { stdout: this.#stdout.end(), stderr: this.#stderr.end() };
  }
}
