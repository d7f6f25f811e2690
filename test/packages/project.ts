/** An empty folder in which somebody installs packages and runs commands. Disposing removes it. */
import { execFile, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const checkout = join(import.meta.dirname, '../..');

/** This machine's PATH, without the checkout's own commands. */
export const SYSTEM_PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((directory) => !directory.startsWith(checkout))
  .join(delimiter);

/** The PATH that begins with the directory of the Node that runs this process. */
export const PINNED_PATH = `${dirname(process.execPath)}${delimiter}${SYSTEM_PATH}`;

/** Variables that another folder must not see: those of this run, of the npm that started it, and of the checkout. */
const OURS = /^(NODE_(OPTIONS|COMPILE_CACHE|ENV|PATH)$|VITEST|TEST$|SERVICE_|npm_(?!config_(registry|cafile|cache)$))/i;

export class Project implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'vouchbox-project-'));
  readonly environment: NodeJS.ProcessEnv;

  /** @param path the PATH of commands that run in the folder */
  constructor(path: string) {
    this.write('package.json', '{ "private": true, "type": "module" }');
    const inherited = Object.entries(process.env).filter(([name]) => !OURS.test(name));
    this.environment = { ...Object.fromEntries(inherited), PATH: path };
  }

  write(name: string, text: string): string {
    writeFileSync(join(this.path, name), text);
    return join(this.path, name);
  }

  async install(...words: readonly string[]): Promise<void> {
    const options = { cwd: this.path, env: this.environment };
    await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...words], options);
  }

  /** Runs a command from the folder or from its PATH until the command ends. */
  run(command: string, ...words: readonly string[]): SpawnSyncReturns<string> {
    const env = {
      ...this.environment,
      PATH: `${join(this.path, 'node_modules/.bin')}${delimiter}${this.environment['PATH']}`,
    };
    return spawnSync(command, words, { cwd: this.path, env, encoding: 'utf8', maxBuffer: 2 ** 26 });
  }

  /** Runs the Node that is on the PATH, and not a Node that was installed in the folder. */
  node(...words: readonly string[]): SpawnSyncReturns<string> {
    return spawnSync('node', words, { cwd: this.path, env: this.environment, encoding: 'utf8' });
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
