/** One node of a fleet as a process with a data directory on a disk of its own, and the way from it to the database. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServiceProcess } from '../crash/service-process.ts';
import { SmallDisk } from '../crash/small-disk.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { TcpProxy } from '../rig/tcp-proxy.ts';

const SHIFTED_CLOCK = fileURLToPath(new URL('./shifted-clock.mjs', import.meta.url));
const NEXT_VERSION = fileURLToPath(new URL('./next-version.mjs', import.meta.url));
const KEYS = 'attestation-keys';
const diskMebibytes = 64;

export interface FleetNodeOptions {
  readonly databaseUrl: string;
  /** How far its clock is ahead. */
  readonly clockShiftMilliseconds?: number;
  /** The node with whose key it signs. Without one it makes a key. */
  readonly signsLike?: FleetNode;
  /** Default: this version. */
  readonly version?: 'next';
  /** Default: `namespace`. A node that makes no cells starts sooner. */
  readonly provider?: 'subprocess';
}

export class FleetNode implements AsyncDisposable {
  readonly database: TcpProxy;
  readonly #disk: SmallDisk;
  readonly #options: FleetNodeOptions;
  #process: ServiceProcess | null = null;

  private constructor(options: FleetNodeOptions, database: TcpProxy, disk: SmallDisk) {
    this.#options = options;
    this.database = database;
    this.#disk = disk;
    if (options.signsLike !== undefined) {
      cpSync(join(options.signsLike.#disk.seen, KEYS), join(disk.seen, KEYS), { recursive: true });
    }
  }

  /** Makes its data directory. */
  static async make(options: FleetNodeOptions): Promise<FleetNode> {
    const disk = await SmallDisk.mount(diskMebibytes);
    return new FleetNode(options, await TcpProxy.to(options.databaseUrl), disk);
  }

  /** Starts it and waits until it listens. */
  static async start(options: FleetNodeOptions): Promise<FleetNode> {
    const node = await FleetNode.make(options);
    await node.start();
    return node;
  }

  /** Where it listens; null while it does not run. */
  get url(): string | null {
    return this.#process?.url ?? null;
  }

  get said(): string {
    return this.#process?.said ?? '';
  }

  async start(): Promise<void> {
    const { databaseUrl, clockShiftMilliseconds = 0, version, provider } = this.#options;
    const process = await ServiceProcess.start({
      dataDir: this.#disk.directory,
      wrapper: this.#disk.wrapper,
      environment: {
        SERVICE_DATABASE_URL: this.database.urlOf(databaseUrl),
        SERVICE_CONCURRENCY: '4',
        SERVICE_FREE_SPACE_RESERVE_MB: '8',
        SERVICE_LOG_LEVEL: 'warn',
        ...(provider !== undefined && { SERVICE_PROVIDER: provider }),
        ...(version === 'next' && { NODE_OPTIONS: `--import ${NEXT_VERSION}` }),
        ...(clockShiftMilliseconds !== 0 && {
          NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`,
          FLEET_CLOCK_SHIFT: String(clockShiftMilliseconds),
        }),
      },
    });
    this.#process = process;
    void process.exited.then(() => {
      if (this.#process === process) this.#process = null;
    });
  }

  /** Leaves no space on the disk of its data directory, or as much as before. */
  set isDiskFull(isFull: boolean) {
    if (isFull) this.#disk.shrink();
    else this.#disk.grow(diskMebibytes);
  }

  /** Ends it without warning. */
  async kill(): Promise<void> {
    await this.#process?.kill();
    this.#process = null;
  }

  /** Stops every process of the node at once, and lets them go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#process !== null) process.kill(this.#process.pid, name);
  }

  /** Resolves as the exit code of a node that ends by itself. */
  async exited(): Promise<number | null> {
    return (await this.#process?.exited)?.code ?? null;
  }

  /** Asks it to stop. Returns what it left on the host, and its exit code if that is not 0. */
  async stop(): Promise<string[]> {
    const code = (await this.#process?.stop()) ?? 0;
    return [
      ...leftoversOf(this.#disk.seen),
      ...(code === 0 ? [] : [`it stopped with exit code ${code}:\n${this.said}`]),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal('SIGCONT');
    await this.kill();
    this.database[Symbol.dispose]();
    await this.#disk[Symbol.asyncDispose]();
  }
}
