/**
 * The messages between the command line and a running service on the operator's socket. A request is one line of JSON, and so is
 * its answer. Then the connection ends. Both ends have the same version, so the format may change with any release.
 */
import type { Credentials } from '../credentials.ts';

/** The longest request line. */
export const requestBytesMax = 64 * 1024;
/** How long either end waits for the other. */
export const patienceMilliseconds = 10_000;
/** How long slow requests may take: proving packs with slow canaries and compilers, or opening the next tree of a long log. */
const packsMilliseconds = 5 * 60_000;

/** One request for each method of `Credentials`. */
type CredentialRequest = {
  [Ask in keyof Credentials]: { readonly ask: Ask; readonly with: Parameters<Credentials[Ask]>[0] };
}[keyof Credentials];

/** Asks the service to look at its packs again, or to open the next tree of its log. */
interface PlainRequest {
  readonly ask: 'takePacks' | 'reopenLog';
  readonly with: Readonly<Record<string, never>>;
}

export type OperatorRequest = CredentialRequest | PlainRequest;

/** After how many milliseconds without a byte a request's connection ends. */
export function patienceOf({ ask }: OperatorRequest): number {
  return ask === 'takePacks' || ask === 'reopenLog' ? packsMilliseconds : patienceMilliseconds;
}

export type OperatorAnswer =
  | { readonly answer: unknown }
  | { readonly refused: { readonly message: string; readonly hint: string | null } };
