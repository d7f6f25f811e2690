/** Says that the service no longer accepts the key, and asks for another. The view below it stays as it was. */
import { useQueryClient } from '@tanstack/react-query';
import { Modal } from '../parts/modal.tsx';
import type { Session } from '../session/session.ts';
import { SignInForm } from '../session/sign-in.tsx';
import { useSignOut } from './account.tsx';

export function EndedDialog({ session }: { readonly session: Session & { readonly kind: 'ended' } }) {
  const queries = useQueryClient();
  const leave = useSignOut();
  const { tenant } = session.whoami;
  const resume = (nextTenant: string) => {
    if (nextTenant === tenant) void queries.invalidateQueries();
    else queries.clear();
  };
  const title = session.reason === 'expired' ? 'Your key has expired' : 'Your key is no longer accepted';
  return (
    <Modal title={title} isOpen>
      <p>
        {session.reason === 'expired'
          ? 'Its time is over.'
          : 'It was revoked, or the service does not know it any more.'}{' '}
        Nothing on this page is lost: sign in again to go on.
      </p>
      <SignInForm onSignedIn={resume} />
      <button className="button plain" type="button" onClick={leave}>
        Sign out instead
      </button>
    </Modal>
  );
}
