/**
 * Calls to an etcd cluster: one connection per member, made when it is needed; the member in use is kept until it fails.
 * Upstream: clientv3 with its balancer and retry policy.
 *
 * Invariants: a write is tried again only where the earlier try cannot have happened; a read is tried at every member,
 * ten times, within its deadline, of which a member that hangs gets its share. A member without a leader counts as failed
 * (`hasleader`), also for running watches. After `close` no connection is made.
 */
import { createGrpcCaller, type GrpcCaller } from '../../grpc/grpc-caller.ts';
import type { GrpcTls } from '../../grpc/grpc-target.ts';
import { type Clock, sleepUnlessAborted } from '../../platform/clock.ts';
import { StoreError } from '../store.ts';
import { isMembersFault, isUndone, storeErrorOf } from './errors.ts';
import { ETCD_TABLE, type EtcdAnswers, mvccTable } from './etcd-table.ts';

export interface EtcdClientConfig {
  /** `http://` or `https://` URLs of members, at least one. */
  readonly endpoints: readonly string[];
  readonly tls?: GrpcTls;
  /** Deadline of one call with all its tries. Default 30 s. */
  readonly timeoutMs?: number;
}

/** One call: `writes` when it changes something. */
export interface EtcdCall {
  readonly doing: string;
  readonly writes?: boolean;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Between two rounds over all members, which may be electing. */
const ROUND_PAUSE_MS = 250;
/** For about as long as clientv3's hundred tries, 25 ms apart: an election, or a member that is started again. */
const ROUNDS = 10;
/** The least a member gets for the answer to a read, where that is left: a busy one is not one that hangs. */
const LEAST_SHARE_MS = 5_000;

interface Connected {
  readonly url: string;
  readonly caller: GrpcCaller;
}

export class EtcdClient {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #tls: GrpcTls | undefined;
  #members: readonly Connected[] = [];
  /** The member in use. */
  #current: Connected;
  readonly #closing = new AbortController();

  constructor({ clock }: { readonly clock: Clock }, config: EtcdClientConfig) {
    this.#clock = clock;
    this.#timeoutMs = config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#tls = config.tls;
    this.#members = config.endpoints.map((url) => this.#connected(url));
    this.#current = this.#members[0]!;
  }

  /** The members are others now. The one in use stays in use where it is among them. Never empty. */
  setEndpoints(endpoints: readonly string[]): void {
    const known = new Map(this.#members.map((member) => [member.url, member]));
    const next = endpoints.map((url) => known.get(url) ?? this.#connected(url));
    const gone = this.#members.filter((member) => !next.includes(member));
    this.#members = next;
    if (gone.includes(this.#current)) this.#current = next[0]!;
    for (const { caller } of gone) caller.disconnect();
  }

  /** One call with an answer. Rejects with `StoreError`. */
  async call<Name extends keyof EtcdAnswers>(name: Name, request: object, call: EtcdCall): Promise<EtcdAnswers[Name]> {
    const deadlineMs = this.#clock.monotonicMs() + this.#timeoutMs;
    for (let attempt = 1; ; attempt++) {
      if (this.#closing.signal.aborted) throw new StoreError('closed', `etcd: ${call.doing}: the client is closed`);
      const leftMs = Math.max(1, deadlineMs - this.#clock.monotonicMs());
      const untried = call.writes === true ? 1 : Math.max(1, this.#members.length + 1 - attempt);
      const timeoutMs = Math.min(leftMs, Math.max(leftMs / untried, LEAST_SHARE_MS));
      const member = this.#current;
      try {
        return (await member.caller.unary(methodOf(name), request, { timeoutMs })) as EtcdAnswers[Name];
      } catch (error) {
        if (isMembersFault(error)) this.#leave(member);
        const again = call.writes === true ? isUndone(error) : isMembersFault(error);
        const over =
          this.#closing.signal.aborted ||
          attempt >= this.#members.length * ROUNDS ||
          this.#clock.monotonicMs() >= deadlineMs;
        if (!again || over) throw storeErrorOf(error, { doing: call.doing, writes: call.writes ?? false });
      }
      if (attempt % this.#members.length === 0)
        await sleepUnlessAborted(this.#clock, ROUND_PAUSE_MS, this.#closing.signal);
    }
  }

  /** A streaming call at the member in use; the caller begins anew when it breaks. Rejects with `GrpcError`. */
  async *stream(name: string, requests: object | AsyncIterable<object>, signal: AbortSignal): AsyncIterable<object> {
    const member = this.#current;
    try {
      yield* member.caller.stream(methodOf(name), requests, { signal });
    } catch (error) {
      if (isMembersFault(error)) this.#leave(member);
      throw error;
    }
  }

  /** Closes the connections; calls under way and later ones end with an error. */
  close(): void {
    this.#closing.abort();
    for (const { caller } of this.#members) caller.disconnect();
  }

  #connected(url: string): Connected {
    const target = { url, ...(this.#tls && { tls: this.#tls }) };
    const headers = { hasleader: 'true' };
    return {
      url,
      caller: createGrpcCaller({ clock: this.#clock }, { target, tables: [mvccTable, ETCD_TABLE], headers }),
    };
  }

  /** The next member takes over, unless one has already. */
  #leave(member: Connected): void {
    const at = this.#members.indexOf(member);
    if (this.#current === member) this.#current = this.#members[(at + 1) % this.#members.length]!;
  }
}

function methodOf(name: string): { service: string; method: string } {
  const [service = '', method = ''] = name.split('/');
  return { service: `${ETCD_TABLE.package}.${service}`, method };
}
