/** The programs that the set-up compiles from the C below this folder, where it could. */
import { fileURLToPath } from 'node:url';

/** The path of one of them, whether or not it was built. The one place that knows where they are put. */
export function nativePath(name: string): string {
  return fileURLToPath(new URL(`../../native/${name}`, import.meta.url));
}
