/**
 * Sessions of the console and the one-time codes that open them, in memory alone, bounded per owner (a user, or the service
 * accounts of a namespace) and in all: the one unused for longest of its owner goes, and where all are too many, one of the owner
 * who has most. A session remembers a credential, not what it allows: each request is authenticated again.
 */
import type { Principal } from '../../api/transport.ts';
import { limitGroupOf } from '../limit-group.ts';
import type { ConsolePorts } from './contract.ts';

/** A token, checked at each request; or the user that a client certificate named, until it ends. */
export type SessionCredential =
  | { readonly kind: 'token'; readonly user: Principal; readonly token: string }
  | {
      readonly kind: 'user';
      readonly user: Principal;
      readonly expiresAtMs?: number | undefined;
      /** Whether the certificate's authority is still trusted. Absent: there was none. */
      readonly isTrusted?: (() => boolean) | undefined;
    };

export interface Session {
  readonly credential: SessionCredential;
  readonly expiresAtMs: number;
}

export const SESSION_MS = 12 * 3_600_000;
export const CODE_MS = 60_000;
const SESSIONS = { each: 16, all: 1000 };
const CODES = { each: 8, all: 1000 };

/** All sessions and codes of a server. */
export class Sessions {
  readonly #clock: ConsolePorts['clock'];
  readonly #random: ConsolePorts['random'];
  /** Each in the order of last use. */
  readonly #sessions = new Map<string, Session>();
  readonly #codes = new Map<string, Session>();

  constructor({ clock, random }: Pick<ConsolePorts, 'clock' | 'random'>) {
    this.#clock = clock;
    this.#random = random;
  }

  get size(): { readonly sessions: number; readonly codes: number } {
    return { sessions: this.#sessions.size, codes: this.#codes.size };
  }

  open(credential: SessionCredential): { readonly id: string; readonly session: Session } {
    const nowMs = this.#clock.nowMs();
    const ownEndMs = credential.kind === 'user' ? credential.expiresAtMs : undefined;
    const session = { credential, expiresAtMs: Math.min(nowMs + SESSION_MS, ownEndMs ?? Infinity) };
    return { id: this.#add(this.#sessions, session, SESSIONS), session };
  }

  /** The session of this id, unless it has ended. */
  find(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined) return undefined;
    this.#sessions.delete(id);
    if (session.expiresAtMs <= this.#clock.nowMs() || !isTrusted(session)) return undefined;
    this.#sessions.set(id, session);
    return session;
  }

  close(id: string): void {
    this.#sessions.delete(id);
  }

  /** Makes a code that opens one session with this credential within a minute. */
  issueCode(credential: SessionCredential): string {
    return this.#add(this.#codes, { credential, expiresAtMs: this.#clock.nowMs() + CODE_MS }, CODES);
  }

  /** The credential that a code was issued for; the code stays usable. */
  findCode(code: string): SessionCredential | undefined {
    const issued = this.#codes.get(code);
    if (issued === undefined || issued.expiresAtMs <= this.#clock.nowMs() || !isTrusted(issued)) return undefined;
    return issued.credential;
  }

  /** The credential that a code was issued for. A code works once. */
  redeemCode(code: string): SessionCredential | undefined {
    const credential = this.findCode(code);
    this.#codes.delete(code);
    return credential;
  }

  #add(map: Map<string, Session>, session: Session, most: { readonly each: number; readonly all: number }): string {
    const nowMs = this.#clock.nowMs();
    for (const [id, { expiresAtMs }] of map) if (expiresAtMs <= nowMs) map.delete(id);
    const byOwner = Map.groupBy(map.keys(), (id) => ownerOf(map.get(id)!));
    const own = byOwner.get(ownerOf(session)) ?? [];
    const [first] = own.length >= most.each ? own : map.size >= most.all ? mostOf(byOwner) : [];
    if (first !== undefined) map.delete(first);
    const id = Buffer.from(this.#random.bytes(32)).toString('base64url');
    map.set(id, session);
    return id;
  }
}

/** A user who may make service accounts may make many. */
const ownerOf = ({ credential: { user } }: Session): string => limitGroupOf(user) ?? user.name;

function isTrusted({ credential }: Session): boolean {
  return credential.kind !== 'user' || credential.isTrusted?.() !== false;
}

function mostOf(byOwner: ReadonlyMap<string, readonly string[]>): readonly string[] {
  let most: readonly string[] = [];
  for (const ids of byOwner.values()) if (ids.length > most.length) most = ids;
  return most;
}
