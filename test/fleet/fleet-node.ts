/** One node of a fleet: a process, a data directory on its own disk, and a connection to the database that can be cut. */
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
  /** How far the node's clock is ahead. */
  readonly clockShiftMilliseconds?: number;
  /** The node with whose key this node signs. Default: this node makes its own key. */
  readonly signsLike?: FleetNode;
  /** The service version that the node runs. Default: this version. */
  readonly version?: 'next';
  /** Default: `namespace`. With `subprocess` the node makes no cells and starts sooner. */
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

  /** Makes the node's data directory, without starting the node. */
  static async make(options: FleetNodeOptions): Promise<FleetNode> {
    const disk = await SmallDisk.mount(diskMebibytes);
    return new FleetNode(options, await TcpProxy.to(options.databaseUrl), disk);
  }

  /** Makes a node, starts it, and waits until it listens. */
  static async start(options: FleetNodeOptions): Promise<FleetNode> {
    const node = await FleetNode.make(options);
    await node.start();
    return node;
  }

  /** The address at which the node listens; null while it does not run. */
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

  /** Takes all free space from the disk with the node's data directory, or gives the space back. */
  set isDiskFull(isFull: boolean) {
    if (isFull) this.#disk.shrink();
    else this.#disk.grow(diskMebibytes);
  }

  /** Kills the node without warning. */
  async kill(): Promise<void> {
    await this.#process?.kill();
    this.#process = null;
  }

  /** SIGSTOP pauses the node's process, and SIGCONT lets it continue. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#process !== null) process.kill(this.#process.pid, name);
  }

  /** Resolves with the exit code once the node has ended by itself. */
  async exited(): Promise<number | null> {
    return (await this.#process?.exited)?.code ?? null;
  }

  /** Asks the node to stop. Returns what it left on the host, and its exit code if that is not 0. */
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
