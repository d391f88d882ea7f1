/** The page for users who are not signed in. */
import { useEffect, useState } from 'preact/hooks';
import { signInWithToken } from './session.ts';
import { findSignInIssuer } from './sign-in-issuer.ts';
import { texts } from './texts.ts';

export function SignIn({ reason }: { readonly reason: string }) {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [issuer, setIssuer] = useState<string>();
  useEffect(() => void findSignInIssuer().then(setIssuer), []);
  const { signIn } = texts;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    await signInWithToken(token.trim());
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>
          <img src="/console/keelson.svg" alt="" width="28" height="28" /> {texts.title}
        </h1>
        {reason === '' ? null : (
          <p class="problem" role="alert">
            {signIn.failed[reason] ?? reason}
          </p>
        )}
        {issuer === undefined ? null : (
          <a class="issuer" href="/console/oidc/start">
            {signIn.withIssuer(issuer)}
          </a>
        )}
        <label for="token">{signIn.token}</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={busy}>
          {signIn.submit}
        </button>
        <p class="hint">{signIn.hint}</p>
        <pre class="command">keelson console</pre>
      </form>
    </main>
  );
}
