/** The body of every refusal. Spec § Errors. */

import { ERROR_CODES } from './errors.ts';
import { type Static, Type } from './type.ts';

export const ErrorEnvelope = Type.Object({
  error: Type.Object({
    code: Type.Enum(ERROR_CODES),
    message: Type.String(),
    request_id: Type.String(),
    retryable: Type.Boolean(),
  }),
});
export type ErrorEnvelope = Static<typeof ErrorEnvelope>;
