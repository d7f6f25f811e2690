/** The caller: the resolved credential, in the words of GET /v1/whoami. Spec § Authentication 2. */
import type { Scope, Whoami } from '@vouchbox/protocol';
import { ServiceError } from './service-error.ts';

export type Caller = Whoami;

/**
 * `whatFor` is what needs the scope, as words that follow its name; nothing where the whole operation does.
 *
 * @throws ServiceError `insufficient_scope`. Spec § Authentication 3
 */
export function requireScope(caller: Caller, scope: Scope, whatFor = ''): void {
  if (caller.scopes.includes(scope)) return;
  throw new ServiceError('insufficient_scope', `The credential lacks the scope "${scope}"${whatFor}.`, { scope });
}
