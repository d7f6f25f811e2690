/** Shows who is signed in, and how to sign out. */
import type { Whoami } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { signOut } from '../session/session.ts';
import { forgetAll } from './forget.ts';

export function Account({ whoami }: { readonly whoami: Whoami }) {
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

/** Signs out: forgets the key and everything that was read or typed. */
export function leave(): void {
  signOut();
  forgetAll({ keepDraft: false });
}
