/**
 * A pod of the chart, started here as the kubelet starts it: with the users, rights and read-only root of the manifest, with
 * its secrets mounted as files, and with one folder instead of its data volume. The pod lacks what a container runtime adds,
 * such as namespaces and a system-call filter.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '../../rig/command.ts';
import { leftoversOf } from '../../rig/leftovers.ts';
import type { Manifest } from './rendered-chart.ts';

export interface PodSecrets {
  /** The contents of the files in `CREDENTIALS_DIRECTORY`, keyed by file name. */
  readonly settings: Readonly<Record<string, string>>;
  /** The signing key as PEM, for a pod that mounts this key. */
  readonly signingKey: string;
}

interface Volume {
  readonly name: string;
  readonly secret?: { readonly defaultMode: number };
  readonly projected?: { readonly defaultMode: number };
}

/** The mount points in the manifest that stay writable under a read-only root. */
const WRITABLE = ['/run', '/tmp'];

/** A running pod. Disposing stops the service if it still runs, and removes the pod's files. */
export class Pod implements AsyncDisposable {
  readonly #spec: Manifest['spec'];
  readonly #scratch = mkdtempSync(join(tmpdir(), 'vouchbox-pod-'));
  readonly #command: Command;
  url = '';

  private constructor(deployment: Manifest, secrets: PodSecrets) {
    this.#spec = deployment['spec'].template.spec;
    this.#mountSecrets(secrets);
    mkdirSync(join(this.#scratch, 'volume'));
    this.#own(join(this.#scratch, 'volume'), 0o2777);
    for (const { command, securityContext } of this.#spec.initContainers ?? [])
      this.#run([...this.#rights(securityContext), ...command]);
    const [{ command, securityContext }] = this.#spec.containers;
    // The last word of the chart's command line is the command itself.
    this.#command = new Command(['serve'], {
      within: [...this.#rights(securityContext), ...command.slice(0, -1)],
      env: this.#environment(),
    });
  }

  /** Starts a Deployment's pod. Resolves once the service in the pod listens. */
  static async start(deployment: Manifest, secrets: PodSecrets): Promise<Pod> {
    const pod = new Pod(deployment, secrets);
    try {
      const [, url = ''] = await pod.#command.shows(/^listening on (\S+)$/m);
      pod.url = url;
      return pod;
    } catch (error) {
      await pod[Symbol.asyncDispose]();
      throw error;
    }
  }

  get dataDirectory(): string {
    return join(this.#scratch, 'volume/data');
  }

  /** The log that the service wrote. */
  get log(): string {
    return this.#command.stderr;
  }

  /** The HTTP status that each probe in the manifest gets, keyed by the probe's name. */
  async probes(): Promise<Readonly<Record<string, number>>> {
    const [container] = this.#spec.containers;
    const asked = ['startupProbe', 'livenessProbe', 'readinessProbe'].map(async (probe) => {
      const { status } = await fetch(this.url + container[probe].httpGet.path);
      return [probe, status] as const;
    });
    return Object.fromEntries(await Promise.all(asked));
  }

  /** Stops the pod as the kubelet does, and returns what it left on the host. */
  async stop(): Promise<string[]> {
    this.#command.kill('SIGTERM');
    const { code } = await this.#command.ended();
    const left = leftoversOf(this.dataDirectory);
    return code === 0 ? left : [...left, `exit code ${code}: ${this.log.slice(-1000)}`];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#command[Symbol.asyncDispose]();
    rmSync(this.#scratch, { recursive: true });
  }

  #environment(): Record<string, string> {
    const { env } = this.#spec.containers[0];
    const stated = Object.fromEntries(env.map(({ name, value }: { name: string; value: string }) => [name, value]));
    const here = { SERVICE_HOST: '127.0.0.1', SERVICE_PORT: '0', SERVICE_FREE_SPACE_RESERVE_MB: '0' };
    return { ...stated, ...here, SERVICE_DATA_DIR: this.dataDirectory, CREDENTIALS_DIRECTORY: this.#folder('secrets') };
  }

  /** The words that start a command with a container's rights. setpriv(1), mount(8). */
  #rights(context: Readonly<Record<string, unknown>>): string[] {
    const { runAsUser, runAsGroup, fsGroup } = { ...this.#spec.securityContext, ...context };
    const binds = WRITABLE.map((path) => `mount --bind ${path} ${path}`);
    const mounts = [...binds, 'mount -o remount,bind,ro /', 'exec "$@"'].join(' && ');
    const root = context['readOnlyRootFilesystem'] === true ? ['unshare', '--mount', 'sh', '-c', mounts, 'pod'] : [];
    if (runAsUser === 0) return root;
    const user = [`--reuid=${runAsUser}`, `--regid=${runAsGroup}`, `--groups=${fsGroup}`];
    return [...root, 'setpriv', ...user, '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all'];
  }

  #run([first = '', ...rest]: readonly string[]): void {
    const env = { ...process.env, DATA: this.dataDirectory, KEY: this.#folder('signing-key') };
    execFileSync(first, rest, { env, stdio: 'pipe' });
  }

  #mountSecrets({ settings, signingKey }: PodSecrets): void {
    const contents: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      secrets: settings,
      'signing-key': { 'signing-key.pem': signingKey },
    };
    chmodSync(this.#scratch, 0o755);
    for (const { name, secret, projected } of this.#spec.volumes as readonly Volume[]) {
      const mode = (secret ?? projected)?.defaultMode;
      if (mode !== undefined) this.#mountSecret(name, mode, contents[name] ?? {});
    }
  }

  /** Mounts a secret as the kubelet does: as links to files in a folder, so that a newer folder can replace it. */
  #mountSecret(volume: string, mode: number, files: Readonly<Record<string, string>>): void {
    const folder = this.#folder(volume);
    mkdirSync(join(folder, '..2026'), { recursive: true });
    symlinkSync('..2026', join(folder, '..data'));
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(folder, '..2026', name), content);
      this.#own(join(folder, '..2026', name), mode);
      symlinkSync(`..data/${name}`, join(folder, name));
    }
  }

  /** Gives a path to root and the pod's group, as the kubelet does with volumes. */
  #own(path: string, mode: number): void {
    chownSync(path, 0, this.#spec.securityContext?.fsGroup ?? 0);
    chmodSync(path, mode);
  }

  #folder(volume: string): string {
    return join(this.#scratch, volume);
  }
}
