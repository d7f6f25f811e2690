/** Who is signed in, and the way out. */
import type { Whoami } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { useSignOut } from './use-sign-out.ts';

export function Account({ whoami }: { readonly whoami: Whoami }) {
  const leave = useSignOut();
  return (
    <div className="account">
      <p className="account-tenant">{printable(whoami.tenant, 60)}</p>
      <p className="account-principal soft small">{printable(whoami.principal, 60)}</p>
      <button className="button plain" type="button" onClick={leave}>
        Sign out
      </button>
    </div>
  );
}
