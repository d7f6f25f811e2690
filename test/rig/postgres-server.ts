/**
 * A PostgreSQL server for one run of the tests: a new cluster in a temporary directory, on a free loopback port, as a user
 * without privileges. It ends when the process that started it ends, even if that process is killed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';

const VERSIONS = '/usr/lib/postgresql';
const DIRECTORY = 'svc-postgres-';
const USER = 'vouchbox';
/** A file in a server's directory. It names the process that made the directory. */
const OWNER = 'owner';

/** Everything that no test needs is off. A commit syncs, as it does by default. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '32MB',
  autovacuum_naptime: '10s',
  jit: 'off',
};

export interface PostgresServer extends AsyncDisposable {
  /** The URL of the server's one database, with its password. */
  readonly url: string;
  readonly pid: number;
  /** Whether the server is running. It ends by itself when its disk is full. */
  readonly isRunning: boolean;
  /** Kills the server, like a crash. It can be started again. */
  kill(): Promise<void>;
  /** Starts the server again on the same port after it was killed or stopped. */
  start(): Promise<void>;
}

/** The directory with the commands of the newest installed version; null if no version is installed. */
export function postgresCommands(): string | null {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS) : [];
  const newest = versions
    .map(Number)
    .filter(Number.isFinite)
    .sort((one, other) => other - one)[0];
  return newest === undefined ? null : join(VERSIONS, String(newest), 'bin');
}

/** Where a cluster is stored: its path for commands in the wrapper, its path for processes outside, and the wrapper. */
export interface ClusterPlace {
  readonly directory: string;
  readonly seen: string;
  readonly wrapper: readonly string[];
}

function newPlace(): ClusterPlace {
  const directory = mkdtempSync(join(tmpdir(), DIRECTORY));
  writeFileSync(join(directory, OWNER), String(process.pid));
  return { directory, seen: directory, wrapper: [] };
}

/**
 * Makes a cluster and starts its server, with further settings if given.
 * @throws Error if PostgreSQL is not installed, or does not start
 */
export async function startPostgres(
  more: Readonly<Record<string, string>> = {},
  given: ClusterPlace | null = null,
): Promise<PostgresServer> {
  const commands = postgresCommands();
  if (commands === null) throw new Error('PostgreSQL is not installed: npm run setup installs it where it may');
  removeLeftovers();
  const place = given ?? newPlace();
  const password = randomBytes(12).toString('hex');
  initialise(commands, place, password);
  let port = await freePort();
  // Meanwhile, another test's connection may have taken the port.
  let server = await running(commands, { place, port, more }).catch(async () => {
    port = await freePort();
    return await running(commands, { place, port, more });
  });
  const isRunning = () => server.exitCode === null && server.signalCode === null;
  const end = async (signal: NodeJS.Signals) => {
    if (!isRunning()) return;
    server.ref();
    server.kill(signal);
    await once(server, 'exit');
  };
  return {
    url: `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`,
    get pid() {
      return server.pid ?? 0;
    },
    get isRunning() {
      return isRunning();
    },
    async kill() {
      const sessions = childrenOf(server.pid ?? 0);
      await end('SIGKILL');
      for (const pid of sessions) await killed(pid);
    },
    start: async () => {
      server = await running(commands, { place, port, more });
    },
    async [Symbol.asyncDispose]() {
      await end('SIGINT');
      if (given === null) rmSync(place.directory, { recursive: true, force: true });
    },
  };
}

/** The server's child processes. They outlive the server for a moment. */
function childrenOf(pid: number): number[] {
  const listed = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return listed.split(' ').filter(Boolean).map(Number);
}

async function killed(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}`)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      return;
    }
    await setImmediate();
  }
}

/** The command as a user without privileges, because a server refuses to run as root. */
function unprivileged(words: readonly string[], { wrapper }: ClusterPlace): [string, string[]] {
  // When this process is gone, the kernel sends the server SIGINT. The server then ends its sessions and stops.
  const user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--pdeathsig=INT'];
  const [file = '', ...others] = [...wrapper, ...(process.getuid?.() === 0 ? user : []), ...words];
  return [file, others];
}

function initialise(commands: string, place: ClusterPlace, password: string): void {
  const { directory, seen } = place;
  const passwordFile = join(directory, 'password');
  writeFileSync(join(seen, 'password'), password, { mode: 0o600 });
  if (process.getuid?.() === 0) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' })));
    for (const path of [seen, join(seen, 'password')]) chownSync(path, uid ?? 0, gid ?? 0);
  }
  const initdb = [
    join(commands, 'initdb'),
    ...['--pgdata', join(directory, 'data'), '--username', USER, '--pwfile', passwordFile],
    // Passwords are checked without a slow handshake, because a run makes hundreds of connections.
    ...['--auth', 'password', '--encoding', 'UTF8', '--locale', 'C.UTF-8', '--no-sync'],
  ];
  const [file, words] = unprivileged(initdb, place);
  execFileSync(file, words, { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory });
}

interface Cluster {
  readonly place: ClusterPlace;
  readonly port: number;
  readonly more: Readonly<Record<string, string>>;
}

async function running(commands: string, { place, port, more }: Cluster) {
  const settings = Object.entries({ ...SETTINGS, ...more, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const { directory } = place;
  const [file, words] = unprivileged([join(commands, 'postgres'), '-D', join(directory, 'data'), ...settings], place);
  const server = spawn(file, words, { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory });
  const ready = Promise.withResolvers<void>();
  const said: string[] = [];
  createInterface({ input: server.stderr }).on('line', (line) => {
    if (said.push(line) > 20) said.shift();
    if (line.includes('ready to accept connections')) ready.resolve();
  });
  server.once('exit', () => ready.reject(new Error(`the server did not start:\n${said.join('\n')}`)));
  await ready.promise;
  // Node may exit while the server runs: the caller that started the server also stops it.
  server.unref();
  return server;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Removes the directories of servers whose run was killed. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const directory = join(tmpdir(), name);
    if (name.startsWith(DIRECTORY) && isAbandoned(directory)) rmSync(directory, { recursive: true, force: true });
  }
}

const startsMillisecondsMax = 10 * 60_000;

/** Whether the process that made a directory is gone. While it lives, it may start a killed server again. */
function isAbandoned(directory: string): boolean {
  try {
    return !existsSync(`/proc/${readFileSync(join(directory, OWNER), 'utf8')}`);
  } catch {
    // Without the file, a young directory may belong to a server that is just starting.
    return Date.now() - statSync(directory).mtimeMs > startsMillisecondsMax;
  }
}
