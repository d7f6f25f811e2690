/** Runs `probe.pl`: controls of the kernel, each tried by a separate process. */
import assert from 'node:assert';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { PERL } from '../../native/native.ts';

const PROBE = fileURLToPath(new URL('./probe.pl', import.meta.url));

/** How a probe ended. */
export interface Probed {
  /** The line that the probe printed: its result, or why it failed. */
  readonly said: string;
  readonly ok: boolean;
  /** The signal that ended the probe; null if it ended by itself. */
  readonly signal: string | null;
}

/** A probe that was begun. */
export interface Probing {
  /** Resolves when the probe has printed a line, or has ended. */
  readonly spoke: Promise<void>;
  /** Never rejects. */
  readonly ended: Promise<Probed>;
}

interface Waiting {
  said: string;
  readonly spoke: PromiseWithResolvers<void>;
  readonly ended: PromiseWithResolvers<Probed>;
}

/** One perl process, which forks a process for each probe. It starts with the first probe. Disposing kills it and every probe. */
export class Probes implements Disposable {
  readonly #waiting = new Map<string, Waiting>();
  #perl: ChildProcessWithoutNullStreams | null = null;
  /** The part of perl's output that is not yet a whole line. */
  #unread = '';
  /** The errors that the perl process itself printed. */
  #complaint = '';
  #last = 0;

  /** Begins a probe in the groups to which `joinFiles` belong. */
  begin(words: readonly string[], joinFiles: readonly string[] = []): Probing {
    const number = String(++this.#last);
    const line = [number, ...joinFiles, '--', ...words].join('\0');
    assert(!line.includes('\n'), 'a word of a probe is in one line');
    const waiting = { said: '', spoke: Promise.withResolvers<void>(), ended: Promise.withResolvers<Probed>() };
    this.#waiting.set(number, waiting);
    this.#perl ??= this.#start();
    this.#perl.stdin.write(`${line}\n`);
    return { spoke: waiting.spoke.promise, ended: waiting.ended.promise };
  }

  /** Runs a probe and returns its answer. @throws Error that says what went wrong */
  async probed(...words: readonly string[]): Promise<string> {
    const { said, ok, signal } = await this.begin(words).ended;
    if (!ok) throw new Error(said || `the trial was ended by ${signal ?? 'an error'}`);
    return said;
  }

  [Symbol.dispose](): void {
    this.#perl?.kill('SIGKILL');
  }

  #start(): ChildProcessWithoutNullStreams {
    const perl = spawn(PERL, [PROBE], { stdio: 'pipe', env: {}, cwd: '/' });
    perl.stdin.on('error', () => {}); // If perl has ended, its `close` event says why.
    perl.stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    perl.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#complaint += text;
    });
    perl.once('error', (error) => this.#lose(perl, { said: error.message, signal: null }));
    perl.once('close', (_code, signal) => this.#lose(perl, { said: this.#complaint.trim(), signal }));
    return perl;
  }

  #read(text: string): void {
    const lines = (this.#unread + text).split('\n');
    this.#unread = lines.pop() ?? '';
    for (const line of lines) {
      const [, number = '', kind, rest = ''] = /^(\d+) (said|ended) (.*)$/.exec(line) ?? [];
      if (kind === 'said') this.#hear(number, rest);
      else this.#end(number, rest);
    }
  }

  #hear(number: string, said: string): void {
    const waiting = this.#waiting.get(number);
    if (waiting === undefined) return;
    waiting.said += said;
    waiting.spoke.resolve();
  }

  #end(number: string, how: string): void {
    const [signal, code] = how.split(' ').map(Number);
    const said = this.#waiting.get(number)?.said.trim() ?? '';
    this.#settle(number, { said, ok: code === 0 && signal === 0, signal: signalName(signal) });
  }

  /** Handles the end of the perl process: every probe ends with it. Another perl process may replace it. */
  #lose(perl: ChildProcessWithoutNullStreams, why: Pick<Probed, 'said' | 'signal'>): void {
    if (this.#perl !== perl) return;
    this.#perl = null;
    this.#unread = '';
    for (const number of [...this.#waiting.keys()]) this.#settle(number, { ...why, ok: false });
  }

  #settle(number: string, probed: Probed): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    waiting?.spoke.resolve();
    waiting?.ended.resolve(probed);
  }
}

function signalName(number: number | undefined): string | null {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? null;
}
