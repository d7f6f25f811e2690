/** The frame around every view: the navigation, the state of the service and who is signed in. */
import { useLocation } from 'wouter';
import { Mark } from '../parts/mark.tsx';
import { useSession } from '../session/session.ts';
import { SignInPage } from '../session/sign-in.tsx';
import { Account } from './account.tsx';
import { EndedDialog } from './ended-dialog.tsx';
import { Navigation } from './navigation.tsx';
import { ServiceState } from './service-state.tsx';
import { Unexpected } from './unexpected.tsx';
import { Views } from './views.tsx';
import './frame.css';

export function Frame() {
  const session = useSession();
  const [view] = useLocation();
  if (session.kind === 'signed-out') return <SignInPage />;
  return (
    <div className="frame">
      <a className="frame-skip" href="#main">
        Skip to the content
      </a>
      <header className="frame-side">
        <p className="frame-name">
          <Mark />
          Vouchbox
        </p>
        <Navigation />
        <div className="frame-foot">
          <ServiceState />
          <Account whoami={session.whoami} />
        </div>
      </header>
      <main className="frame-main" id="main" tabIndex={-1}>
        <Unexpected key={session.whoami.tenant} view={view}>
          <Views />
        </Unexpected>
      </main>
      {session.kind === 'ended' && <EndedDialog session={session} />}
    </div>
  );
}
