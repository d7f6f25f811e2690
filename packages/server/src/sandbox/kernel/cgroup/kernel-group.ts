/** A group on either cgroup version. The plan names the files that have its numbers. A subclass defines `kill`. */
import { join } from 'node:path';
import type { Group, GroupLimits, GroupLocation, KernelPlan, Measure, Writing } from './cgroup.ts';
import { killAndRemove, makeDirectories, memberOf, readFrom, readProcesses, writeTo } from './control-files.ts';

export abstract class KernelGroup implements Group {
  readonly location: GroupLocation;
  readonly directories: readonly string[];
  readonly joinFiles: readonly string[];
  /** The member of `memory.stat` that counts the memory of files. */
  readonly #filesMember: string;
  #isRemoved = false;

  constructor(
    location: GroupLocation,
    { directories, joinFile, filesMember }: { directories: readonly string[]; joinFile: string; filesMember: string },
  ) {
    this.location = location;
    this.directories = directories;
    this.joinFiles = directories.map((directory) => join(directory, joinFile));
    this.#filesMember = filesMember;
  }

  abstract get plan(): KernelPlan;

  abstract kill(): void;
  /** Refuses every fork from now on. Does nothing unless `kill` could miss a process that is being forked. */
  protected refuseForks(): void {}

  hasMoreThan(): boolean {
    return false;
  }

  adopt(): void {}

  make(): void {
    makeDirectories(this.directories);
  }

  read(measure: Measure): number {
    return readFrom(this.directories, this.plan.readings[measure]);
  }

  write(writings: readonly Writing[]): void {
    writeTo(this.directories, writings);
  }

  limit(limits: GroupLimits): GroupLimits {
    const inForce = () => ({ memoryBytes: this.read('memoryLimitBytes'), processes: this.read('processesLimit') });
    this.write(this.plan.toLimit(limits, inForce()));
    return inForce();
  }

  /** The memory that no file on disk holds. The kernel lists a file in memory among the anonymous pages. */
  unreclaimableBytes(): number {
    return this.read('memoryBytes') - this.#counted('active_file') - this.#counted('inactive_file');
  }

  anonymousBytes(): number {
    return this.read('memoryBytes') - this.#counted(this.#filesMember);
  }

  members(): readonly number[] {
    return [...new Set(this.directories.flatMap((directory) => readProcesses(join(directory, 'cgroup.procs'))))];
  }

  #counted(member: string): number {
    const { directory } = this.plan.readings.memoryBytes;
    return readFrom(this.directories, { directory, file: 'memory.stat', parse: memberOf(member) });
  }

  async remove(): Promise<void> {
    if (this.#isRemoved) return;
    const kill = () => {
      this.refuseForks();
      this.kill();
    };
    await killAndRemove(kill, this.directories);
    this.#isRemoved = true;
  }
}
