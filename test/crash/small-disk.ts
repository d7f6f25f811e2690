/** A small disk that only processes started with its wrapper can see. The disk outlives these processes. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class SmallDisk implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'svc-small-'));
  readonly #holder: ChildProcess;

  private constructor(mebibytes: number) {
    const hold = 'mount -t tmpfs -o size="$1m",mode=700 tmpfs "$0" && echo && exec cat';
    const words = ['--mount', 'sh', '-c', hold, this.directory, String(mebibytes)];
    this.#holder = spawn('unshare', words, { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  static async mount(mebibytes: number): Promise<SmallDisk> {
    const disk = new SmallDisk(mebibytes);
    await once(disk.#holder.stdout as NonNullable<ChildProcess['stdout']>, 'data');
    return disk;
  }

  /** The words to put before a command, so that the command sees the disk. */
  get wrapper(): readonly string[] {
    return ['nsenter', `--mount=/proc/${this.#holder.pid}/ns/mnt`, '--'];
  }

  /** Fills the disk to its last byte. */
  fill(): void {
    const ballast = openSync(this.#seen('ballast'), 'w');
    const piece = new Uint8Array(4096);
    try {
      for (;;) writeSync(ballast, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(ballast);
    }
  }

  clear(): void {
    rmSync(this.#seen('ballast'));
  }

  /** Makes the disk larger, as an operator would. */
  grow(mebibytes: number): void {
    this.#resize(`${mebibytes}m`);
  }

  /** Makes the disk as small as its content, however large the disk was. Unlike `fill`, this takes no memory. */
  shrink(): void {
    for (;;) {
      const { blocks, bfree, bsize } = statfsSync(this.seen);
      try {
        this.#resize(String((blocks - bfree) * bsize));
        return;
      } catch {
        // Meanwhile, other processes wrote, so the new size was too small. Try again.
      }
    }
  }

  /** The directory's path for processes that were started without the wrapper. */
  get seen(): string {
    return join(`/proc/${this.#holder.pid}/root`, this.directory);
  }

  #resize(size: string): void {
    const [command, ...words] = this.wrapper as [string, ...string[]];
    execFileSync(command, [...words, 'mount', '-o', `remount,size=${size}`, this.directory], { stdio: 'pipe' });
  }

  #seen(name: string): string {
    return join(this.seen, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#holder.stdin?.end();
    await once(this.#holder, 'exit');
    rmSync(this.directory, { recursive: true });
  }
}
