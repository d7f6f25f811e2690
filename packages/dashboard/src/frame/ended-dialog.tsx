/** Asks for another key after a key has ended. The view below stays as it was unless the new key belongs to another tenant. */
import { useQueryClient } from '@tanstack/react-query';
import { Modal } from '../parts/modal.tsx';
import type { Session } from '../session/session.ts';
import { SignInForm } from '../session/sign-in.tsx';
import { leave } from './account.tsx';
import { forgetAll } from './forget.ts';

export function EndedDialog({ session }: { readonly session: Session & { readonly kind: 'ended' } }) {
  const queries = useQueryClient();
  const { tenant } = session.whoami;
  const resume = (nextTenant: string) => {
    if (nextTenant === tenant) void queries.invalidateQueries();
    else forgetAll({ keepDraft: true });
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
      <SignInForm onAccepted={resume} />
      <button className="button plain" type="button" onClick={leave}>
        Sign out instead
      </button>
    </Modal>
  );
}
