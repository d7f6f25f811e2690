/** The body of every refusal. Spec § Errors. */
import { type Static, Type } from 'typebox';
import { ERROR_CODES } from './errors.ts';

export const ErrorEnvelope = Type.Object({
  error: Type.Object({
    code: Type.Enum(ERROR_CODES),
    message: Type.String(),
    request_id: Type.String(),
    retryable: Type.Boolean(),
  }),
});
export type ErrorEnvelope = Static<typeof ErrorEnvelope>;
