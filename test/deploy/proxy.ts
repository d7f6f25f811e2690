/**
 * A real proxy on loopback in front of a service, with the sample configuration for operators. Only the addresses, the
 * certificate and the paths of files are replaced, because those in the sample are for an operator's host.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

const deploy = join(import.meta.dirname, '../../deploy');

/** A running proxy. Disposing ends it. */
export interface RunningProxy extends AsyncDisposable {
  readonly url: string;
}

/** One kind of proxy: its program, the sample's file in deploy/, and the parts of the sample that are replaced. */
export interface ProxyKind {
  readonly name: string;
  readonly program: string;
  readonly sample: string;
  /** The sample's text with this host's ports, certificate and paths. */
  readonly configuration: (sample: string, at: Places) => string;
  /** The arguments with which the program only checks a configuration. `serve` has the arguments for serving. */
  readonly check: (file: string) => readonly string[];
  readonly serve: (file: string) => readonly string[];
}

interface Places {
  readonly directory: string;
  readonly port: number;
  readonly servicePort: number;
}

/** Replaces each text, and fails if the sample lacks one of the texts. */
function replaced(sample: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the sample has no ${from}`);
    return text.replaceAll(from, to);
  }, sample);
}

const NGINX: ProxyKind = {
  name: 'nginx',
  program: '/usr/sbin/nginx',
  sample: 'nginx.conf',
  configuration(sample, { directory, port, servicePort }) {
    const site = replaced(sample, [
      ['127.0.0.1:8080', `127.0.0.1:${servicePort}`],
      ['  listen 443 ssl http2;\n', `  listen 127.0.0.1:${port} ssl http2;\n`],
      ['  listen [::]:443 ssl http2;\n', ''],
      ['vouchbox.example.com', 'localhost'],
      ['/etc/vouchbox/tls', directory],
      ['/var/log/nginx', directory],
    ]);
    const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${directory}/${name};`,
    );
    return [
      `user root; worker_processes 1; pid ${directory}/nginx.pid; error_log ${directory}/error.log; daemon off;`,
      `events {} http { ${places.join(' ')}\n${site}}`,
    ].join('\n');
  },
  check: (file) => ['-t', '-c', file],
  serve: (file) => ['-c', file],
};

const CADDY: ProxyKind = {
  name: 'caddy',
  program: '/usr/bin/caddy',
  sample: 'Caddyfile',
  configuration: (sample, { directory, port, servicePort }) =>
    replaced(sample, [
      ['{\n\tservers {', '{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n\tservers {'],
      ['127.0.0.1:8080', `127.0.0.1:${servicePort}`],
      [
        'vouchbox.example.com {',
        `https://localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${directory}/certificate.pem ${directory}/key.pem`,
      ],
    ]),
  check: (file) => ['validate', '--adapter', 'caddyfile', '--config', file],
  serve: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
};

export const PROXIES: readonly ProxyKind[] = [NGINX, CADDY];

/** Whether this host has the proxy's program. */
export function isInstalled({ program }: ProxyKind): boolean {
  return existsSync(program);
}

/** Makes a self-signed certificate for `localhost`, and returns it as PEM. */
export function makeCertificate(directory: string): string {
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')];
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key];
  execFileSync('openssl', [...words, ...subject, '-out', certificate], { stdio: 'pipe' });
  return readFileSync(certificate, 'utf8');
}

/** Writes the configuration below `directory`, where the certificate is. Returns the configuration's path. */
function writeConfiguration(kind: ProxyKind, at: Places): string {
  const file = join(at.directory, kind.sample);
  writeFileSync(file, kind.configuration(readFileSync(join(deploy, kind.sample), 'utf8'), at));
  return file;
}

/** What the proxy prints when it checks the sample. Throws if the proxy does not accept the sample. */
export function checkSample(kind: ProxyKind, directory: string): string {
  const file = writeConfiguration(kind, { directory, port: 1, servicePort: 2 });
  return execFileSync(kind.program, kind.check(file), { env: environment(directory), stdio: 'pipe' }).toString();
}

/** Starts the proxy in front of a service, and resolves once the proxy accepts connections. */
export async function startProxy(kind: ProxyKind, directory: string, servicePort: number): Promise<RunningProxy> {
  const port = await freePort();
  const file = writeConfiguration(kind, { directory, port, servicePort });
  const child = spawn(kind.program, kind.serve(file), {
    env: environment(directory),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = sayings(child);
  await listening(child, port, said);
  return {
    url: `https://localhost:${port}`,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'close');
    },
  };
}

/** An environment in which the proxy reads and writes none of this user's own files. */
function environment(directory: string): NodeJS.ProcessEnv {
  const home = join(directory, 'home');
  mkdirSync(home, { recursive: true });
  return { PATH: process.env['PATH'], HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
}

function sayings(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      text = (text + piece).slice(-4000);
    });
  }
  return () => text;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Tries to connect until the proxy listens or has ended, because a proxy does not say when it listens. */
async function listening(child: ChildProcess, port: number, said: () => string): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the proxy ended: ${said()}`);
}
