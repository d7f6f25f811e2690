/**
 * Two programs that talk: the standard output of each is the standard input of the other. This module decides how each
 * program's part ended: before the part of the other, after it, or by a wall limit while both waited for each other.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { ObservedInteraction } from '@vouchbox/protocol';
import { PERL } from '../native/native.ts';
import type { InteractionSide } from '../sandbox.ts';
import { LiveInput } from './output/live-input.ts';
import type { Pipes } from './output/pipes.ts';
import type { Breach } from './watch/watch.ts';

/** Processor time is first read when no byte has passed for this long, and again whenever that pause has doubled. */
const QUIET_MILLISECONDS = 100;
/**
 * The processor time that a waiting program may use: a share of the time that passes, plus a fixed number of milliseconds. gVisor
 * itself uses half of this.
 */
const WAITING = { part: 0.08, milliseconds: 15 };
/** The processor time that a program may use while it is killed: the kernel charges the program for its own removal. */
const KILLED = { part: 0.12, milliseconds: 100 };

/** If a program closes its output and still runs, the other program finds the end of its input after this time. */
const CLOSING_MILLISECONDS = 500;

/** A program that was released. */
interface Part {
  readonly pipes: Pick<Pipes, 'stdin' | 'stdout'>;
  /** The limit that ended the program; null while none has. */
  readonly breach: () => Breach | null;
  /** Processor time now; null if nothing counts it. Throws once the program's cell is gone. */
  readonly cpuMilliseconds: () => number | null;
}

/** The processor time of both programs at one moment, and whether both wait for room to write to the other. */
interface Reading {
  readonly at: number;
  readonly areFull: boolean;
  readonly cpu: readonly (number | null)[];
}

/** The data that both sides share. */
class Shared {
  readonly sides: Side[] = [];
  first: Side | null = null;
  /** Whether both programs waited for each other when the first one reached its wall limit; null before that. */
  judging: Promise<boolean> | null = null;
  readings: readonly Reading[] = [];
  #movedAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Records that a byte passed, or that a program was released. */
  moved(): void {
    this.readings = [];
    this.#movedAt = performance.now();
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#look(), QUIET_MILLISECONDS).unref();
    else this.#timer.refresh();
  }

  over(): void {
    clearTimeout(this.#timer);
  }

  #look(): void {
    const at = performance.now();
    try {
      const areFull = this.sides.every(({ input }) => input.isFull);
      const cpu = this.sides.map((side) => side.cpuMilliseconds());
      this.readings = [...this.readings.slice(-1), { at, areFull, cpu }];
    } catch {
      return; // A cell is gone, and its ending gives the reason.
    }
    this.#timer = setTimeout(() => this.#look(), at - this.#movedAt).unref();
  }
}

/** One of the two programs of an interaction. */
export class Side implements InteractionSide {
  readonly input: LiveInput;
  readonly #shared: Shared;
  readonly #cpuAtEnd = Promise.withResolvers<number | null>();
  #part: Part | null = null;
  #isOver = false;
  #isClosed = false;
  #closing: NodeJS.Timeout | undefined;

  constructor(shared: Shared) {
    this.#shared = shared;
    this.input = new LiveInput(() => shared.moved());
    shared.sides.push(this);
  }

  get #other(): Side {
    return this.#shared.sides.find((side) => side !== this) as Side;
  }

  /** Called when the program is released. From now on its output is delivered to the other program. */
  begin(part: Part): void {
    const { stdin, stdout } = part.pipes;
    this.#part = part;
    this.input.open(stdin);
    stdout.on('data', (chunk: Buffer) => this.#other.input.take(chunk, stdout));
    stdout.once('close', () => this.#closed());
    this.#shared.moved();
  }

  /** Called when no process of the program is alive. The other program gets the rest of its input, and then end-of-file. */
  async over(cpuMilliseconds: number | null): Promise<ObservedInteraction> {
    const shared = this.#shared;
    this.#cpuAtEnd.resolve(cpuMilliseconds);
    shared.first ??= this;
    if (this.#part?.breach() === 'wall_limit') shared.judging ??= isDeadlock(shared.sides, shared.readings);
    const isDead = (await shared.judging) ?? false;
    const stdin = this.input.delivered();
    this.gone();
    return { stdin, end: isDead ? 'deadlock' : shared.first === this ? 'first' : 'second' };
  }

  /** Called when the program has ended, or will never run. Idempotent. */
  gone(): void {
    this.#isOver = true;
    clearTimeout(this.#closing);
    this.#shared.over();
    this.input.close();
    if (this.#part === null || this.#isClosed) this.#other.input.end();
    else this.#other.input.takeAll(this.#part.pipes.stdout);
  }

  cpuMilliseconds(): number | null {
    return this.#part?.cpuMilliseconds() ?? null;
  }

  /** The processor time until now, or until the end of the program. */
  async cpuUsed(): Promise<number | null> {
    try {
      return this.cpuMilliseconds();
    } catch {
      return await this.#cpuAtEnd.promise;
    }
  }

  /**
   * Handles the end of the program's output. The other program learns of it only when this program is over, so that the other
   * program cannot seem to have ended first. A program that closes its output and goes on cannot write again.
   */
  #closed(): void {
    this.#isClosed = true;
    if (this.#isOver) this.#other.input.end();
    else this.#closing = setTimeout(() => this.#other.input.end(), CLOSING_MILLISECONDS).unref();
  }
}

/** The two sides of an interaction: the program's side and its interactor's side. */
export function interaction(): readonly [program: Side, interactor: Side] {
  const shared = new Shared();
  return [new Side(shared), new Side(shared)];
}

/**
 * Whether each program waits for the other. Then both are idle, and one of two things holds: all output was delivered
 * and read, or both programs have output for which the pipes have no room.
 */
async function isDeadlock(sides: readonly Side[], [earlier, later]: readonly Reading[]): Promise<boolean> {
  const at = performance.now();
  if (earlier === undefined || later === undefined) return false;
  const { areFull } = later;
  const descriptors = sides.map(({ input }) => input.idleDescriptor);
  if (!areFull && !areNumbers(descriptors)) return false;
  const unread = areNumbers(descriptors) ? unreadBytes(descriptors) : null;
  const last: Reading = { at, areFull, cpu: await Promise.all(sides.map((side) => side.cpuUsed())) };
  return areIdle(earlier, later, WAITING) && areIdle(later, last, KILLED) && (areFull || (await unread) === 0);
}

/** Whether both programs used no more processor time between two readings than waiting programs use. */
function areIdle(from: Reading, until: Reading, allowed: typeof WAITING): boolean {
  const most = allowed.milliseconds + allowed.part * (until.at - from.at);
  return from.cpu.every((before, index) => {
    const after = until.cpu[index] ?? null;
    return before !== null && after !== null && after - before <= most;
  });
}

function areNumbers(values: readonly (number | null)[]): values is readonly number[] {
  return values.every((value) => value !== null);
}

/** Prints how many bytes are in each of two pipes. FIONREAD: ioctl_tty(2). */
const COUNT =
  'for (0, 3) { open my $p, "<&=", $_; my $n = pack "i", 0; ioctl $p, 0x541B, $n; print unpack("i", $n), "\\n" }';

/** How many unread bytes are in two pipes; null if unknown. A helper process counts them, because Node has no call for it. */
async function unreadBytes([one, other]: readonly number[]): Promise<number | null> {
  const child = spawn(PERL, ['-e', COUNT], { env: {}, cwd: '/', stdio: [one, 'pipe', 'ignore', other] });
  child.on('error', () => {});
  const counts = (await text(child.stdout as NonNullable<typeof child.stdout>)).match(/^(\d+)\n(\d+)\n$/);
  return counts === null ? null : Number(counts[1]) + Number(counts[2]);
}
