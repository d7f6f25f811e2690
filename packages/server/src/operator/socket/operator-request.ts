/** Whether a line on the operator's socket is a valid request. Only the service that gets the line checks it. */
import { fits, type TSchema, Type } from '@vouchbox/protocol';
import type { OperatorRequest } from './messages.ts';

const exact = { additionalProperties: false };
const text = () => Type.String({ maxLength: 1024 });
const textOrNull = () => Type.Union([text(), Type.Null()]);

const asking = (ask: OperatorRequest['ask'], members: Record<string, TSchema>) =>
  Type.Object({ ask: Type.Literal(ask), with: Type.Object(members, exact) }, exact);

const request = Type.Union([
  asking('create', {
    tenant: text(),
    principal: textOrNull(),
    scopes: Type.Union([Type.Array(text(), { maxItems: 64 }), Type.Null()]),
    expires_at: textOrNull(),
  }),
  asking('list', { tenant: textOrNull() }),
  asking('rotate', { credential_id: text(), expires_at: textOrNull(), overlap_seconds: Type.Number() }),
  asking('takePacks', {}),
  asking('reopenLog', {}),
  asking('revoke', { credential_id: text() }),
]);

/** Whether a value is a valid request. */
export function isOperatorRequest(value: unknown): value is OperatorRequest {
  return fits(request, value);
}
