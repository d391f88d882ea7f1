/**
 * Asks before a sign-in link ends the existing session, because anybody can lead a browser to a link with a code of their own.
 */
import { useSignal, useSignalEffect } from '@preact/signals';
import { Dialog } from '../parts/dialog.tsx';
import { pendingLink, session, usePendingLink } from './session.ts';
import { texts } from './texts.ts';

export function LinkDialog() {
  const open = useSignal(false);
  useSignalEffect(() => {
    open.value = pendingLink.value !== undefined;
  });
  useSignalEffect(() => {
    if (!open.value) pendingLink.value = undefined;
  });
  return (
    <Dialog open={open} title={texts.link.title}>
      <Question />
    </Dialog>
  );
}

function Question() {
  const { link, signIn } = texts;
  const state = session.value;
  const problem = pendingLink.value?.problem;
  const name = state.kind === 'signedIn' ? (state.user.username ?? '') : '';
  if (problem !== undefined)
    return (
      <p class="problem" role="alert">
        {signIn.failed[problem] ?? problem}
      </p>
    );
  return (
    <>
      <p>{link.ends(name)}</p>
      <p>{link.whose}</p>
      <div class="actions">
        <button type="button" class="primary" autofocus onClick={() => (pendingLink.value = undefined)}>
          {link.keep}
        </button>
        <button type="button" onClick={() => void usePendingLink()}>
          {link.go}
        </button>
      </div>
    </>
  );
}
