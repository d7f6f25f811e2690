/** The programs that the set-up compiles from the C below this folder, if it can. */
import { fileURLToPath } from 'node:url';

/** The path of one of them, whether or not it was built. Only this function knows where they are. */
export function nativePath(name: string): string {
  return fileURLToPath(new URL(`../../native/${name}`, import.meta.url));
}
