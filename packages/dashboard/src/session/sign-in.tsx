/** Asks for a key. The form is not sent anywhere: the key becomes part of the client, which is kept in memory. */
import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useEffect, useId, useRef, useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Mark } from '../parts/mark.tsx';
import { signIn } from './session.ts';
import './sign-in.css';

/** What a person sees before signing in. */
export function SignInPage() {
  return (
    <main className="sign-in">
      <div className="sign-in-card stack">
        <h1>
          <Mark />
          Vouchbox
        </h1>
        <p className="soft">Run code you don’t trust, watch it, and check what was signed.</p>
        <SignInForm />
        <p className="small">
          <a href="/docs">Documents</a>
        </p>
      </div>
    </main>
  );
}

/** The form for a key. If the key is accepted, `onAccepted` is called with its tenant before any view has the key. */
export function SignInForm({ onAccepted }: { readonly onAccepted?: (tenant: string) => void }) {
  const id = useId();
  const [key, setKey] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const signing = useMutation({ mutationFn: (apiKey: string) => signIn(apiKey, onAccepted) });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    signing.mutate(key.trim());
  };
  return (
    <form className="stack" onSubmit={submit}>
      <div className="field">
        <label htmlFor={id}>API key</label>
        <input
          id={id}
          ref={field}
          className="input mono"
          type="password"
          autoComplete="off"
          spellCheck={false}
          required
          value={key}
          onChange={(event) => setKey(event.target.value)}
          aria-describedby={`${id}-hint`}
        />
        <p id={`${id}-hint`} className="field-hint">
          It is kept in the memory of this page alone: a reload forgets it. Whoever runs the service makes one with{' '}
          <code>vouchbox keys create</code>.
        </p>
      </div>
      {signing.isError && <Failure error={signing.error} />}
      <button className="button primary" type="submit" disabled={signing.isPending || key.trim() === ''}>
        {signing.isPending ? 'Signing in…' : 'Sign in'}
      </button>
    </form>
  );
}
