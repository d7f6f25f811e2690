/**
 * What the command line and a running service say to each other over the operator's socket: one line of JSON asks, one
 * answers, and the connection ends. Both ends are of one version: the socket is no contract.
 */
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Credentials } from './credentials.ts';

/** Longest line that asks. */
export const requestBytesMax = 64 * 1024;
/** How long either end waits for the other. */
export const patienceMilliseconds = 10_000;

const exact = { additionalProperties: false };
const text = () => Type.String({ maxLength: 1024 });
const textOrNull = () => Type.Union([text(), Type.Null()]);

const OperatorRequest = Type.Union([
  Type.Object(
    {
      ask: Type.Literal('create'),
      with: Type.Object(
        {
          tenant: text(),
          principal: textOrNull(),
          scopes: Type.Union([Type.Array(text(), { maxItems: 64 }), Type.Null()]),
          expires_at: textOrNull(),
        },
        exact,
      ),
    },
    exact,
  ),
  Type.Object({ ask: Type.Literal('list'), with: Type.Object({ tenant: textOrNull() }, exact) }, exact),
  Type.Object(
    {
      ask: Type.Literal('rotate'),
      with: Type.Object({ credential_id: text(), expires_at: textOrNull(), overlap_seconds: Type.Number() }, exact),
    },
    exact,
  ),
  Type.Object({ ask: Type.Literal('revoke'), with: Type.Object({ credential_id: text() }, exact) }, exact),
]);
export type OperatorRequest = Static<typeof OperatorRequest>;

export type OperatorAnswer =
  | { readonly answer: unknown }
  | { readonly refused: { readonly message: string; readonly hint: string | null } };

const request = Compile(OperatorRequest);

/** Whether a value is something that can be asked. */
export function isOperatorRequest(value: unknown): value is OperatorRequest {
  return request.Check(value);
}

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
