/**
 * Makes a clean Debian in a directory, and runs commands in it as on another machine, with this machine's kernel, network and
 * control groups. Commands enter by `pivot_root`, because the kernel allows no user namespaces below a `chroot`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ARCHIVE_OPTIONS, ownMirror } from '../hosts/archive.ts';

const SUITE = 'bookworm';
const BUILD_MILLISECONDS_MAX = 20 * 60_000;
/** The file in the root with the further certificates that this machine trusts. */
const OWN_CERTIFICATES = '/usr/local/share/own-certificates.pem';

/** apt's sources as Debian's published image has them. */
const SOURCES = `Types: deb
URIs: ${ownMirror()}
Suites: ${SUITE} ${SUITE}-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`;

/**
 * Makes a Debian 12 with its essential packages and these packages. Needs root, `mmdebstrap` and a network.
 * @returns the environment for commands in the root, so that npm there uses the same registry as here
 */
export function makeCleanRoot(root: string, packages: readonly string[]): Readonly<Record<string, string>> {
  const options = ARCHIVE_OPTIONS.map((option) => `--aptopt=${option}`);
  const words = ['--mode=root', '--variant=minbase', '--dpkgopt=force-unsafe-io', ...options];
  const include = packages.length > 0 ? [`--include=${packages.join(',')}`] : [];
  run('mmdebstrap', [...words, ...include, SUITE, root, `deb ${ownMirror()} ${SUITE} main`]);
  rmSync(join(root, 'etc/apt/sources.list'), { force: true });
  writeFileSync(join(root, 'etc/apt/sources.list.d/debian.sources'), SOURCES);
  for (const file of ['etc/resolv.conf', 'etc/hosts']) cpSync(join('/', file), join(root, file), { dereference: true });
  return npmSettings(root);
}

/** The registry from which this machine's npm fetches packages, and the certificates that npm trusts. */
function npmSettings(root: string): Readonly<Record<string, string>> {
  const configured = (name: string) => execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim();
  const registry = { npm_config_registry: configured('registry') };
  const certificates = process.env['NODE_EXTRA_CA_CERTS'] ?? configured('cafile');
  if (!existsSync(certificates)) return registry;
  mkdirSync(join(root, OWN_CERTIFICATES, '..'), { recursive: true });
  cpSync(certificates, join(root, OWN_CERTIFICATES), { dereference: true });
  return { ...registry, npm_config_cafile: OWN_CERTIFICATES, NODE_EXTRA_CA_CERTS: OWN_CERTIFICATES };
}

/** The mounts end with the command. `$1` is the root. `$2` is a directory of this machine to show in the root, or empty. */
const ENTER = `set -e; root=$1 shared=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
[ -z "$shared" ] || { mkdir -p "$root$shared"; mount --bind "$shared" "$root$shared"; }
cd "$root"; pivot_root . .; umount -l .; cd /
exec "$@"`;

/** The words that start a command in the root. The started process becomes the command. */
export function inRoot(root: string, { shares = '' } = {}): readonly [string, ...string[]] {
  return ['unshare', '--mount', 'sh', '-c', ENTER, 'enter', root, shares];
}

/** @throws Error with the last lines that the command printed */
export function run(command: string, words: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, words, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: BUILD_MILLISECONDS_MAX,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === 0) return stdout;
  const lines = `${stderr ?? ''}`.trim().split('\n').slice(-6).join(' | ');
  throw new Error(`${command} failed: ${error?.message ?? lines}`);
}
