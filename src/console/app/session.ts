/** Who is signed in. A one-time code in the address is exchanged for a session and dropped from the address at once. */
import { signal } from '@preact/signals';
import type { UserInfo } from '../../api/gen/authentication-v1.ts';
import { forgetAccess } from '../api/access.ts';
import { ApiError, type Call, send, sendJson, whenSignedOut } from '../api/http.ts';

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'signedOut'; readonly reason: string }
  | { readonly kind: 'signedIn'; readonly user: UserInfo };

/** A link that would end the session of somebody else: the user is asked. */
export interface PendingLink {
  readonly code: string;
  /** Why it cannot be used after all. */
  readonly problem?: string;
}

interface SessionAnswer {
  readonly user: UserInfo;
}

export const session = signal<SessionState>({ kind: 'unknown' });
export const pendingLink = signal<PendingLink | undefined>(undefined);

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
  if (code !== undefined) await signInWithCode(code);
  else await signIn(undefined, '');
}

/** Whether whoever led here may end the session that is there, its user decides. */
async function signInWithCode(code: string): Promise<void> {
  try {
    await enter({ body: JSON.stringify({ code }) });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 409) return refuse(error, 'code');
    await signIn(undefined, '');
    pendingLink.value = { code };
  }
}

/** Ends the session for that of the pending link. It stays when the link cannot be used. */
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

/** The session of a bearer token. */
export function signInWithToken(token: string): Promise<void> {
  return signIn({ headers: { Authorization: `Bearer ${token}` } }, 'token');
}

export async function signOut(): Promise<void> {
  session.value = { kind: 'signedOut', reason: '' };
  forgetAccess();
  await send(PATH, { method: 'DELETE' });
}

type SignInCall = Pick<Call, 'body' | 'headers'>;

/** `failure`: what to say when the server refuses. */
async function signIn(call: SignInCall | undefined, failure: string): Promise<void> {
  try {
    await enter(call);
  } catch (error) {
    refuse(error, failure);
  }
}

/** By a POST of `call`, or with the session that is there. What the page knew of another user is forgotten first. */
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
    if (!(error instanceof ApiError)) throw error; // `whenSignedOut` hears of its end
  });
}

function codeInAddress(): string | undefined {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  if (code !== undefined) history.replaceState(null, '', location.pathname);
  return code;
}
