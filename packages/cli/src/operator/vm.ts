/** `vouchbox vm`: a Linux machine for a system that cannot make cells itself. Lima makes it from `deploy/lima.yaml`. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StartError } from '@vouchbox/server/administration';

export interface VmOptions {
  /** Starts the machine instead of printing the template. */
  readonly start?: true;
  /** The checkout that is copied to the machine. */
  readonly checkout?: string;
}

const NAME = 'vouchbox';
/** Where the template is: in a checkout, and in the installed package. */
const TEMPLATES = ['../../../../deploy/lima.yaml', '../../deploy/lima.yaml'];
const OWN_CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url));

/** Prints the template, or starts the machine. @returns the exit code of Lima */
export function vmCommand({ start, checkout = OWN_CHECKOUT }: VmOptions): number {
  const template = templateFor(resolve(checkout));
  if (start !== true) {
    process.stdout.write(template);
    return 0;
  }
  // An existing machine keeps its settings.
  return isMade() ? lima(['start', NAME]) : lima(['start', `--name=${NAME}`, '--tty=false', '-'], template);
}

/** @throws StartError if there is no checkout in this directory */
function templateFor(checkout: string): string {
  if (!existsSync(join(checkout, 'tools/setup.mjs'))) {
    throw new StartError(`${checkout} is no checkout of Vouchbox`, { hint: 'name one with --checkout' });
  }
  const file = TEMPLATES.map((path) => fileURLToPath(new URL(path, import.meta.url))).find((path) => existsSync(path));
  if (file === undefined) throw new StartError('deploy/lima.yaml is missing', { hint: 'install the package again' });
  // A JSON string is also a YAML string.
  return readFileSync(file, 'utf8').replace('"@CHECKOUT@"', () => JSON.stringify(checkout));
}

function isMade(): boolean {
  const { stdout } = spawnSync('limactl', ['list', '--quiet'], { encoding: 'utf8' });
  return (stdout ?? '').split('\n').includes(NAME);
}

/** @throws StartError if Lima is not installed */
function lima(words: readonly string[], input?: string): number {
  const stdin = input === undefined ? 'inherit' : 'pipe';
  const { status, error } = spawnSync('limactl', words, { input, stdio: [stdin, 'inherit', 'inherit'] });
  if (error !== undefined) {
    throw new StartError('limactl cannot be started', { hint: 'install Lima: brew install lima', cause: error });
  }
  return status ?? 1;
}
