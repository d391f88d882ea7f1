/** The signed-in user. A one-time code in the address is exchanged for a session and removed from the address at once. */
import { signal } from '@preact/signals';
import type { UserInfo } from '../../api/gen/authentication-v1.ts';
import { forgetAccess } from '../api/access.ts';
import { ApiError, type Call, send, sendJson, whenSignedOut } from '../api/http.ts';

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'signedOut'; readonly reason: string }
  | { readonly kind: 'signedIn'; readonly user: UserInfo };

/** A link that would end another user's session; the user must confirm it. */
export interface PendingLink {
  readonly code: string;
  /** The reason why the link cannot be used. */
  readonly problem?: string;
}

interface SessionAnswer {
  readonly user: UserInfo;
}

export const session = signal<SessionState>({ kind: 'unknown' });
export const pendingLink = signal<PendingLink | undefined>(undefined);

const PATH = '/console/session';
/** A page that only watches would notice the end of its session late. */
const CHECK_MS = 30_000;

/** Determines the signed-in user, with the one-time code of the address if it has one. */
export async function openSession(): Promise<void> {
  const code = takeFromAddress(/^#code=([\w-]+)$/);
  const failure = takeFromAddress(/^#oidc=(stale|denied|issuer|rejected|busy|address)$/);
  whenSignedOut(() => {
    if (session.peek().kind === 'signedIn') session.value = { kind: 'signedOut', reason: 'ended' };
  });
  setInterval(checkSession, CHECK_MS);
  if (code !== undefined) await signInWithCode(code);
  else await signIn(undefined, failure ?? '');
}

/** The user of an existing session decides whether a link may end it. */
async function signInWithCode(code: string): Promise<void> {
  try {
    await enter({ body: JSON.stringify({ code }) });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 409) return refuse(error, 'code');
    await signIn(undefined, '');
    pendingLink.value = { code };
  }
}

/** Replaces the session with that of the pending link. The session stays when the link cannot be used. */
export async function usePendingLink(): Promise<void> {
  const code = pendingLink.peek()?.code;
  if (code === undefined) return;
  try {
    await enter({ body: JSON.stringify({ code, replace: true }) });
    pendingLink.value = undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    pendingLink.value = { code, problem: error.code === 401 ? 'code' : error.message };
  }
}

/** Signs in with a bearer token. */
export function signInWithToken(token: string): Promise<void> {
  return signIn({ headers: { Authorization: `Bearer ${token}` } }, 'token');
}

export async function signOut(): Promise<void> {
  session.value = { kind: 'signedOut', reason: '' };
  forgetAccess();
  await send(PATH, { method: 'DELETE' });
}

type SignInCall = Pick<Call, 'body' | 'headers'>;

/** `failure`: the text that is shown when the server refuses. */
async function signIn(call: SignInCall | undefined, failure: string): Promise<void> {
  try {
    await enter(call);
  } catch (error) {
    refuse(error, failure);
  }
}

/** Signs in by a POST of `call`, or with the existing session. State of another user is cleared first. */
async function enter(call: SignInCall | undefined): Promise<void> {
  const { user } = await sendJson<SessionAnswer>(PATH, call === undefined ? {} : { method: 'POST', ...call });
  forgetAccess();
  session.value = { kind: 'unknown' };
  session.value = { kind: 'signedIn', user };
}

function refuse(error: unknown, failure: string): void {
  if (!(error instanceof ApiError)) throw error;
  session.value = { kind: 'signedOut', reason: error.code === 401 || error.code === 403 ? failure : error.message };
}

function checkSession(): void {
  if (document.hidden || session.peek().kind !== 'signedIn') return;
  send(PATH).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error; // the end of a session calls `whenSignedOut`
  });
}

/** What the address's fragment holds for one use; it is dropped from the address. */
function takeFromAddress(pattern: RegExp): string | undefined {
  const found = pattern.exec(location.hash)?.[1];
  if (found !== undefined) history.replaceState(null, '', location.pathname);
  return found;
}
