/** Reads the public parts of a log, as text. Nothing is checked here. */
import { readUpTo } from '@vouchbox/evidence';
import { CommandFailure } from '../failures/command-failure.ts';

/** The most bytes of an answer. Every head is shorter, and so is every proof between two heads. */
const answerBytesMax = 64 * 1024;
const answerMilliseconds = 30_000;

/** The text at a path below `/log/`; null if the log has no text there. @throws CommandFailure if the log does not answer */
export async function readOfLog(url: string, path: string, signal: AbortSignal): Promise<string | null> {
  const address = `${url.replace(/\/$/, '')}/log/${path}`;
  const patience = AbortSignal.any([signal, AbortSignal.timeout(answerMilliseconds)]);
  try {
    const response = await fetch(address, { redirect: 'error', signal: patience });
    const bytes = await readUpTo(response.body, answerBytesMax);
    if (bytes === null) throw new CommandFailure('the answer of the log is longer than any head or proof');
    if (response.ok) return new TextDecoder().decode(bytes);
    if (response.status === 404) return null;
    throw new CommandFailure(`${address} answers ${response.status}`);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${address} does not answer`, { cause: error });
  }
}
