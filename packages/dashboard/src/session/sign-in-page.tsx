/** What a person sees who has not signed in. */
import { SignInForm } from './sign-in-form.tsx';
import './sign-in.css';

export function SignInPage() {
  return (
    <main className="sign-in">
      <div className="sign-in-card stack">
        <h1>Vouchbox</h1>
        <p className="soft">Run code you don’t trust, watch it, and check what was signed.</p>
        <SignInForm />
      </div>
    </main>
  );
}
