/** The tools that a program may call. A call leaves its cell only as an event, which a caller answers. */
import { Type } from './type.ts';

/** The tools that a program may call, the principals that may answer, and the bounds of its calls. */
export const StoredTools = Type.Object({
  names: Type.Array(Type.String()),
  answered_by: Type.Array(Type.String()),
  limits: Type.Object({ calls: Type.Integer(), call_bytes: Type.Integer(), total_bytes: Type.Integer() }),
});
