/** Who is signed in. A one-time code in the address is exchanged for a session and dropped from the address at once. */
import { signal } from '@preact/signals';
import type { UserInfo } from '../../api/gen/authentication-v1.ts';
import { forgetAccess } from '../api/access.ts';
import { ApiError, send, sendJson, whenSignedOut } from '../api/http.ts';

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'signedOut'; readonly reason: string }
  | { readonly kind: 'signedIn'; readonly user: UserInfo };

interface SessionAnswer {
  readonly user: UserInfo;
}

export const session = signal<SessionState>({ kind: 'unknown' });

const PATH = '/console/session';
/** A page that only watches notices so late that its session has ended. */
const CHECK_MS = 30_000;

/** Learns who is signed in, by the address's code where it has one. */
export async function openSession(): Promise<void> {
  const code = codeInAddress();
  whenSignedOut(() => {
    if (session.peek().kind === 'signedIn') session.value = { kind: 'signedOut', reason: 'ended' };
  });
  setInterval(checkSession, CHECK_MS);
  if (code !== undefined) await signIn({ body: JSON.stringify({ code }) }, 'code');
  else await signIn(undefined, '');
}

/** The session of a bearer token. */
export function signInWithToken(token: string): Promise<void> {
  return signIn({ headers: { Authorization: `Bearer ${token}` } }, 'token');
}

export async function signOut(): Promise<void> {
  session.value = { kind: 'signedOut', reason: '' };
  forgetAccess();
  await send(PATH, { method: 'DELETE' });
}

/** `failure`: what to say when the server refuses. */
async function signIn(
  call: { readonly body?: string; readonly headers?: Record<string, string> } | undefined,
  failure: string,
): Promise<void> {
  forgetAccess();
  try {
    const { user } = await sendJson<SessionAnswer>(PATH, call === undefined ? {} : { method: 'POST', ...call });
    session.value = { kind: 'signedIn', user };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    session.value = { kind: 'signedOut', reason: error.code === 401 || error.code === 403 ? failure : error.message };
  }
}

function checkSession(): void {
  if (document.hidden || session.peek().kind !== 'signedIn') return;
  send(PATH).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error; // `whenSignedOut` hears of its end
  });
}

function codeInAddress(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', location.pathname);
  return code;
}
