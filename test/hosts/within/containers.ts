/**
 * Runs the service in a container on this host, with an ordinary user's Podman or with Docker. `ENGINE bare` gives the container
 * no rights and prints what the start says. `ENGINE user` starts it as docs/operating/containers.md and deploy/compose.user.yaml
 * do, and runs a job of each kind. Both print what failed, and exit with 1 if anything did.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createServiceClient } from '@vouchbox/client';
import { jobProblems } from '../../deploy/capability-trial.ts';

const ARCHIVE = '/opt/vouchbox/image.tar';
const USER = 'captain';
const HOME = `/home/${USER}`;
const CHECKOUT = `${HOME}/vouchbox`;
const URL = 'http://127.0.0.1:8080';
const COMMAND = '/opt/vouchbox/node_modules/.bin/vouchbox';
const DATA = '/home/vouchbox/data';
const READY_SECONDS_MAX = 1200;

/** How each engine is called, in a directory with `deploy/`. */
const ENGINES = { podman: asCaptain(), docker: [] as readonly string[] };
type Engine = keyof typeof ENGINES;

/** The words that run a command in a user session with a control group. Podman finds subordinate ids by USER. */
function asCaptain(): readonly string[] {
  const uid = '$(id -u captain)';
  const words = `exec setpriv --reuid=${USER} --regid=${USER} --init-groups env USER=${USER} HOME=${HOME} XDG_RUNTIME_DIR=/run/user/${uid}`;
  return ['sh', '-c', `${words} DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/${uid}/bus "$@"`, 'sh'];
}

interface Said {
  readonly code: number | null;
  readonly stdout: string;
  /** Everything that the command printed, on both streams. */
  readonly said: string;
}

function run(engine: Engine, ...words: readonly string[]): Said {
  const [command = '', ...rest] = [...ENGINES[engine], ...words];
  const { status, stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', cwd: CHECKOUT });
  return { code: status, stdout: stdout.trim(), said: `${stdout}${stderr}`.trim() };
}

/** @returns what the command printed on stdout. @throws Error with everything that it printed, if it failed */
function must(engine: Engine, ...words: readonly string[]): string {
  const { code, stdout, said } = run(engine, ...words);
  if (code !== 0) throw new Error(`${words.slice(0, 3).join(' ')}: ${said.slice(-1500)}`);
  return stdout;
}

/** Gives this host a route, because the program that makes networks without root needs the host's routes. */
const NETWORK =
  'modprobe dummy; ip link add host0 type dummy; ip address add 192.0.2.2/24 dev host0; ip link set host0 up; ip route add default via 192.0.2.1';

/** Makes the user as the documents say, and loads the image into the engine. */
function prepare(engine: Engine): void {
  if (!existsSync(HOME)) {
    execFileSync('sh', ['-ec', NETWORK]);
    execFileSync('useradd', ['--create-home', '--shell', '/bin/sh', USER]);
    execFileSync('sh', ['-c', `systemctl start "user@$(id -u ${USER}).service"`]);
    cpSync('/opt/vouchbox/deploy', `${CHECKOUT}/deploy`, { recursive: true });
    writeFileSync(`${CHECKOUT}/deploy/metrics-token`, 'a-token-for-metrics-that-is-long-enough\n');
    execFileSync('chown', ['--recursive', `${USER}:`, HOME]);
  }
  if (engine === 'docker') execFileSync('systemctl', ['start', 'docker']);
  if (run(engine, engine, 'image', 'inspect', 'vouchbox').code === 0) return;
  must(engine, engine, 'load', '--input', ARCHIVE);
  must(engine, engine, 'tag', 'localhost/vouchbox', 'vouchbox');
}

/** The faults of two starts without any rights: one as the container's root, and one as the container's user. */
function bare(engine: Engine): readonly string[] {
  return [[], ['--user', '1000:1000', '--env', `SERVICE_DATA_DIR=${DATA}`]].flatMap((words) => {
    const { code, said } = run(engine, engine, 'run', '--rm', ...words, 'vouchbox', 'serve');
    const line = said.split('\n').at(-1) ?? '';
    process.stdout.write(`${words.length === 0 ? 'as root' : 'as its user'}: ${line}\n`);
    return code !== 0 && said.includes('docs/operating/containers.md') ? [] : [`${code}: ${said.slice(-1500)}`];
  });
}

/** Starts the container, with the command in the document or, for Docker, with the compose file. */
function start(engine: Engine): void {
  if (engine === 'docker') {
    must(
      engine,
      'docker-compose',
      '--file',
      'deploy/compose.user.yaml',
      '--project-name',
      'vouchbox',
      'up',
      '--detach',
    );
    return;
  }
  const page = readFileSync('/opt/vouchbox/docs/operating/containers.md', 'utf8');
  const [, command = ''] = /```sh\n(podman run [\s\S]*?)```/.exec(page) ?? [];
  must(engine, 'sh', '-ec', command);
}

const CONTAINERS: Readonly<Record<Engine, string>> = { podman: 'vouchbox', docker: 'vouchbox-vouchbox-1' };

async function becomesReady(): Promise<boolean> {
  const deadline = performance.now() + READY_SECONDS_MAX * 1000;
  while (performance.now() < deadline) {
    const answer = await fetch(`${URL}/readyz`).catch(() => null);
    if (answer?.ok === true) return true;
    await delay(500);
  }
  return false;
}

async function user(engine: Engine): Promise<readonly string[]> {
  try {
    start(engine);
    return await faultsOf(engine);
  } finally {
    // The container of the next engine needs the same port.
    run(engine, engine, 'rm', '--force', CONTAINERS[engine]);
  }
}

/** The faults in one job of each kind, and in the stop of the service. */
async function faultsOf(engine: Engine): Promise<readonly string[]> {
  const container = CONTAINERS[engine];
  const within = [engine, 'exec', container, COMMAND];
  if (!(await becomesReady())) return [`not ready: ${run(engine, engine, 'logs', container).said.slice(-1500)}`];
  const { key } = JSON.parse(must(engine, ...within, 'keys', 'create', '--tenant', 'acme', '--json')) as {
    key: string;
  };
  const client = createServiceClient({ baseUrl: URL, apiKey: key });
  const problems = await jobProblems(client);
  const { isolation_class } = await client.capabilities();
  must(engine, engine, 'stop', '--time', '300', container);
  const code = must(engine, engine, 'inspect', '--format', '{{.State.ExitCode}}', container);
  process.stdout.write(`${isolation_class}, ${problems.length === 0 ? 'every job as expected' : 'problems'}\n`);
  return [...problems, ...(code === '0' ? [] : [`stopped with ${code}`])];
}

const [engine, way] = process.argv.slice(2) as [Engine, 'bare' | 'user'];
prepare(engine);
for (const problem of await { bare: async () => bare(engine), user: () => user(engine) }[way]()) {
  process.stdout.write(`${problem}\n`);
  process.exitCode = 1;
}
