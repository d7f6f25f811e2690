/**
 * A service for the matrix: one or two `vouchbox serve` processes with their own store. A test can kill the service and
 * start it again on the same port. Disposing stops the service, and fails if anything of it is left on the host.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createServiceClient, type ServiceClient } from '@vouchbox/client';
import { Command, vouchbox } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';

/** Settings for `vouchbox serve`, keyed by flag. */
export type Settings = Readonly<Record<string, string>>;

const COMMON: Settings = {
  host: '127.0.0.1',
  concurrency: '24',
  'tenant-concurrency': '8',
  'concurrent-mem-mb-max': '8000',
  'parked-mb-max': '256',
  'rate-per-second': '100000',
  'rate-burst': '100000',
  'queue-max': '1000',
  'tenant-queue-max': '1000',
  'free-space-reserve-mb': '0',
  'log-level': 'error',
  'log-host': 'crossings.test',
  links: 'on',
};

/** One process of a service, with its data directory and its port. */
interface Node {
  readonly dataDir: string;
  port: string;
  process: Command;
  url: string;
}

export class Service implements AsyncDisposable {
  readonly #nodes: Node[] = [];
  readonly #keys: string;
  #settings: Settings;
  /** The public keys that have signed at this service, as PEM, oldest first. */
  readonly publicKeys: string[] = [];
  /** The key of the service's log at the service's first start. */
  logKey = '';

  private constructor(tenants: readonly string[], settings: Settings) {
    this.#keys = tenants.map((tenant) => `${tenant}=${keyOf(tenant)}`).join();
    this.#settings = settings;
  }

  /**
   * Starts a service for these tenants.
   * @param dataDir the data directory of the first node; default: a new directory
   */
  static async start(
    tenants: readonly string[],
    settings: Settings,
    { nodes = 1, dataDir = newDirectory() }: { readonly nodes?: 1 | 2; readonly dataDir?: string } = {},
  ): Promise<Service> {
    const service = new Service(tenants, { 'attestation-mode': 'on', ...settings });
    await service.#open(dataDir);
    await service.#notePublicKey();
    service.logKey = await service.#readLogKey();
    if (nodes === 2) {
      const other = newDirectory();
      cpSync(join(dataDir, 'attestation-keys'), join(other, 'attestation-keys'), { recursive: true });
      await service.#open(other);
    }
    return service;
  }

  get dataDir(): string {
    return this.#first.dataDir;
  }

  get url(): string {
    return this.#first.url;
  }

  /** The address where jobs are read and cancelled: the second node's if there is one. */
  get otherUrl(): string {
    return this.#nodes.at(-1)?.url ?? this.url;
  }

  get signs(): boolean {
    return this.#settings['attestation-mode'] === 'on';
  }

  get #first(): Node {
    const [first] = this.#nodes;
    if (first === undefined) throw new Error('the service has no process');
    return first;
  }

  client(tenant: string, url = this.url): ServiceClient {
    return createServiceClient({ baseUrl: url, apiKey: keyOf(tenant), retry: { attemptsMax: 9 } });
  }

  /** Kills the node that accepts the jobs, like a crash, and starts the node again at the same address. */
  async crash(): Promise<void> {
    const node = this.#first;
    node.process.kill('SIGKILL');
    await node.process.ended();
    await this.#run(node);
  }

  /** Stops the service cleanly, and starts it again with other settings. */
  async restart(settings: Settings): Promise<void> {
    this.#settings = { ...this.#settings, ...settings };
    for (const node of this.#nodes) {
      await this.#stop(node);
      await this.#run(node);
    }
  }

  /** Signs with a new key from now on. */
  async rotateKey(): Promise<void> {
    const { code, stderr } = await vouchbox(['attestation-keys', 'rotate', '--data-dir', this.dataDir]);
    if (code !== 0) throw new Error(`the key was not rotated: ${stderr}`);
    await this.#notePublicKey();
    for (const { dataDir } of this.#nodes.slice(1)) {
      cpSync(join(this.dataDir, 'attestation-keys'), join(dataDir, 'attestation-keys'), { recursive: true });
    }
  }

  /** Stops the service and keeps its data. */
  async stop(): Promise<void> {
    for (const node of this.#nodes) await this.#stop(node);
  }

  async #notePublicKey(): Promise<void> {
    const { code, stdout, stderr } = await vouchbox(['attestation-keys', 'export', '--data-dir', this.dataDir]);
    if (code !== 0) throw new Error(`there is no public key: ${stderr}`);
    this.publicKeys.push(stdout);
  }

  /** Waits until the log opens, shortly after the start. Returns its key; empty if the log stays closed, as with carried data. */
  async #readLogKey(): Promise<string> {
    for (let tries = 0; tries < 100; tries++) {
      const answer = await fetch(`${this.url}/log/keys`);
      if (answer.ok) return ((await answer.json()) as { readonly log_key: string }).log_key;
      await pause(100);
    }
    return '';
  }

  async #open(dataDir: string): Promise<void> {
    const node = { dataDir, port: '0' } as Node;
    await this.#run(node);
    this.#nodes.push(node);
  }

  async #run(node: Node): Promise<void> {
    const settings = { ...COMMON, ...this.#settings, 'data-dir': node.dataDir, port: node.port };
    const words = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    // The tenants' keys together are too long for an argument, so the environment has them.
    node.process = new Command(['serve', ...words], { env: { SERVICE_LEGACY_KEYS: this.#keys } });
    const [, url = ''] = await node.process.shows(/^listening on (http:\S+)/m);
    node.url = url;
    node.port = new URL(url).port;
  }

  async #stop(node: Node): Promise<void> {
    node.process.kill('SIGTERM');
    const { code, stderr } = await node.process.ended();
    if (code !== 0) throw new Error(`the service ended with ${code}: ${stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => {});
    for (const { dataDir } of this.#nodes) {
      const left = leftoversOf(dataDir);
      rmSync(dataDir, { recursive: true, force: true });
      if (left.length > 0) throw new Error(`the service left ${left.join(', ')}`);
    }
  }
}

export function keyOf(tenant: string): string {
  return `key-of-${tenant}`;
}

let root: string | null = null;

/** A new directory. `removeDirectories` removes it. */
export function newDirectory(): string {
  root ??= mkdtempSync(join(tmpdir(), 'svc-crossings-'));
  return mkdtempSync(join(root, 'd-'));
}

/** Removes every directory that `newDirectory` made. */
export function removeDirectories(): void {
  if (root !== null) rmSync(root, { recursive: true, force: true });
  root = null;
}
