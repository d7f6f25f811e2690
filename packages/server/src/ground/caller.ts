/** The caller: the resolved credential, in the words of GET /v1/whoami. Spec § Authentication 2. */
import type { Scope, Whoami } from '@vouchbox/protocol';
import { ServiceError } from './service-error.ts';

export type Caller = Whoami;

/**
 * `whatFor` says what needs the scope, in words that follow the scope's name; empty if the whole operation needs it.
 *
 * @throws ServiceError `insufficient_scope`. Spec § Authentication 3
 */
export function requireScope(caller: Caller, scope: Scope, whatFor = ''): void {
  if (caller.scopes.includes(scope)) return;
  throw new ServiceError('insufficient_scope', `The credential lacks the scope "${scope}"${whatFor}.`, { scope });
}
