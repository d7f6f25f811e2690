/** A port on the command line. */
import { UsageError } from '../failures/usage-error.ts';

/** The number, 0 for any free port. @throws UsageError that names the option, if the text is not a port */
export function portOf(option: string, text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new UsageError(`${option} takes a port, not ${text}`);
  return port;
}
