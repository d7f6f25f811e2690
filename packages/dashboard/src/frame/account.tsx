/** Shows who is signed in, and the way out. */
import { useQueryClient } from '@tanstack/react-query';
import type { Whoami } from '@vouchbox/client';
import { printable } from '@vouchbox/protocol/vocabulary';
import { forgetDraft } from '../draft/draft.ts';
import { forgetHistories } from '../job/use-job-history.ts';
import { signOut } from '../session/session.ts';

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

/** The way out: the key is forgotten, and with it all that was read and typed. Only pinned keys stay: they are public. */
export function useSignOut(): () => void {
  const queries = useQueryClient();
  return () => {
    signOut();
    queries.clear();
    forgetHistories();
    forgetDraft();
  };
}
