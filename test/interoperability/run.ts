/** Starts third-party programs, and reads their output. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface Ended {
  /** The exit code; null if a signal ended the program. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const outputBytesMax = 64 * 1024 * 1024;

/**
 * Runs a program to its end, with further environment variables if given. If the program cannot start, the error says what
 * to install.
 */
export async function run(
  command: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  try {
    const options = { maxBuffer: outputBytesMax, env: { ...process.env, ...environment } };
    const { stdout, stderr } = await promisify(execFile)(command, [...words], options);
    return { exitCode: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: unknown; stdout: string; stderr: string };
    if (typeof code === 'string')
      throw new Error(`${command} did not run: npm run setup installs it`, { cause: error });
    return { exitCode: typeof code === 'number' ? code : null, stdout, stderr };
  }
}
