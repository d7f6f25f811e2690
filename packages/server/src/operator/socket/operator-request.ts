/** Whether a line on the operator's socket is a valid request: only the service that is asked checks it. */
import { fits, Type } from '@vouchbox/protocol';
import type { OperatorRequest } from './messages.ts';

const exact = { additionalProperties: false };
const text = () => Type.String({ maxLength: 1024 });
const textOrNull = () => Type.Union([text(), Type.Null()]);

const request = Type.Union([
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
  Type.Object({ ask: Type.Literal('takePacks'), with: Type.Object({}, exact) }, exact),
  Type.Object({ ask: Type.Literal('reopenLog'), with: Type.Object({}, exact) }, exact),
  Type.Object({ ask: Type.Literal('revoke'), with: Type.Object({ credential_id: text() }, exact) }, exact),
]);

/** Whether a value is a valid request. */
export function isOperatorRequest(value: unknown): value is OperatorRequest {
  return fits(request, value);
}
