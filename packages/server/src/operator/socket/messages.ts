/**
 * What the command line and a running service say to each other over the operator's socket: one line of JSON asks, one
 * answers, and the connection ends. Both ends are of one version: the socket is no contract.
 */
import type { Credentials } from '../credentials.ts';

/** Longest line that asks. */
export const requestBytesMax = 64 * 1024;
/** How long either end waits for the other. */
export const patienceMilliseconds = 10_000;

/** One question for each that the credentials answer. */
export type OperatorRequest = {
  [Ask in keyof Credentials]: { readonly ask: Ask; readonly with: Parameters<Credentials[Ask]>[0] };
}[keyof Credentials];

export type OperatorAnswer =
  | { readonly answer: unknown }
  | { readonly refused: { readonly message: string; readonly hint: string | null } };

/** Asks the credentials of this process what was asked over the socket. */
export function ask(credentials: Credentials, asked: OperatorRequest): Promise<unknown> {
  switch (asked.ask) {
    case 'create':
      return credentials.create(asked.with);
    case 'list':
      return credentials.list(asked.with);
    case 'rotate':
      return credentials.rotate(asked.with);
    case 'revoke':
      return credentials.revoke(asked.with);
  }
}
