/**
 * An S3-compatible server for tests: OpenStack Swift with its S3 interface, in a temporary directory, on free loopback
 * ports. It ends when the process that started it ends, even if that process is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { askS3, type S3Place } from '../../packages/server/src/objects/s3-requests.ts';
import { TcpProxy } from './tcp-proxy.ts';

const PYTHON = '/usr/bin/python3';
const PROGRAM = fileURLToPath(new URL('object-server.py', import.meta.url));
const startMillisecondsMax = 60_000;

export interface ObjectServer extends AsyncDisposable {
  /** Makes a new bucket. */
  newBucket(): Promise<S3Place>;
  /** Refuses connections until `accept`, like a server that is gone. Both calls are quick: the process keeps running. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /** Kills the server, like a crash. It can be started again. */
  kill(): Promise<void>;
  /** Starts the server again, on the same port and with everything that it had stored. */
  start(): Promise<void>;
  /** The paths of the files that hold the objects. Each file has one object's bytes. */
  files(): readonly string[];
}

/** Whether the server is installed. The set-up for tests installs it if permitted. */
export function hasObjectServer(): boolean {
  return existsSync('/usr/lib/python3/dist-packages/swift/__init__.py');
}

export async function startObjectServer(): Promise<ObjectServer> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-objects-'));
  const ports = await freePorts(4);
  const secret = randomBytes(12).toString('hex');
  const proxy = await TcpProxy.to(`http://127.0.0.1:${ports[3]}`);
  const { origin } = new URL(proxy.urlOf('http://127.0.0.1'));
  const place = (bucket: string): S3Place => ({
    url: `${origin}/${bucket}`,
    region: 'us-east-1',
    accessKey: 'test:tester',
    secretKey: secret,
  });
  const server = spawn(PYTHON, [PROGRAM, directory, ...ports.map(String), secret], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
  const tell = async (line: 'start' | 'kill') => {
    server.stdin.write(`${line}\n`);
    if ((await lines.next()).done) throw new Error('the object server ended');
  };
  const kill = () => tell('kill');
  const start = async () => {
    await tell('start');
    for (const port of ports) await ready(server, `http://127.0.0.1:${port}/info`);
  };
  await start();
  return {
    start,
    kill,
    refuse: () => proxy.refuse(),
    accept: () => proxy.accept(),
    async newBucket() {
      const made = place(`bucket-${randomBytes(6).toString('hex')}`);
      const { status } = await askS3(made, { method: 'PUT', url: made.url, milliseconds: 30_000, bytesMax: 65_536 });
      if (status !== 200) throw new Error(`no bucket was made: HTTP ${status}`);
      return made;
    },
    files: () =>
      readdirSync(join(directory, 'devices'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.data'))
        .map((name) => join(directory, 'devices', name)),
    async [Symbol.asyncDispose]() {
      proxy[Symbol.dispose]();
      const exited = once(server, 'exit');
      server.stdin.end();
      await exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Changes one byte of a file. */
export function changeFile(file: string): void {
  const bytes = readFileSync(file);
  const middle = bytes.length >> 1;
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
  writeFileSync(file, bytes);
}

async function ready(server: ChildProcess, url: string): Promise<void> {
  const givesUpAt = performance.now() + startMillisecondsMax;
  for (;;) {
    if (server.exitCode !== null) throw new Error('the object server ended while it started');
    const isUp = await fetch(url, { signal: AbortSignal.timeout(5000) }).then(
      () => true,
      () => false,
    );
    if (isUp) return;
    if (performance.now() > givesUpAt) throw new Error('the object server did not start');
    await pause(50);
  }
}

/** Ports that were free at the time of this call. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
