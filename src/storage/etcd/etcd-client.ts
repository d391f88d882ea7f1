/**
 * Calls to an etcd cluster: one connection per member, opened on demand; the current member is used until it fails.
 * Upstream: clientv3 with its balancer and retry policy.
 *
 * Invariants: a write is retried only if the earlier attempt cannot have happened; a read is tried at every member,
 * ten times, within its deadline, of which a hanging member gets its share. A member without a leader counts as
 * failed (`hasleader`), also for running watches. After `close` no connection is opened.
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
  /** Deadline of a call with all its attempts. Default 30 s. */
  readonly timeoutMs?: number;
}

/** One call: `writes` when it changes something. */
export interface EtcdCall {
  readonly doing: string;
  readonly writes?: boolean;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** The pause between two rounds over all members, which may be electing. */
const ROUND_PAUSE_MS = 250;
/** About as long as clientv3's hundred attempts, 25 ms apart: an election, or a restart of a member. */
const ROUNDS = 10;
/** The minimum a member gets to answer a read, within the deadline: a busy member is not a hanging one. */
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
  /** The current member. */
  #current: Connected;
  readonly #closing = new AbortController();

  constructor({ clock }: { readonly clock: Clock }, config: EtcdClientConfig) {
    this.#clock = clock;
    this.#timeoutMs = config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#tls = config.tls;
    this.#members = config.endpoints.map((url) => this.#connected(url));
    this.#current = this.#members[0]!;
  }

  /** Replaces the members; must not be empty. The current one is kept if it is among them. */
  setEndpoints(endpoints: readonly string[]): void {
    const members = new Map(this.#members.map((member) => [member.url, member]));
    const next = endpoints.map((url) => members.get(url) ?? this.#connected(url));
    const gone = this.#members.filter((member) => !next.includes(member));
    this.#members = next;
    if (gone.includes(this.#current)) this.#current = next[0]!;
    for (const { caller } of gone) caller.disconnect();
  }

  /** A unary call. Rejects with `StoreError`. */
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

  /** A streaming call to the current member; when it breaks the caller starts again. Rejects with `GrpcError`. */
  async *stream(name: string, requests: object | AsyncIterable<object>, signal: AbortSignal): AsyncIterable<object> {
    const member = this.#current;
    try {
      yield* member.caller.stream(methodOf(name), requests, { signal });
    } catch (error) {
      if (isMembersFault(error)) this.#leave(member);
      throw error;
    }
  }

  /** Closes the connections; current and later calls fail. */
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

  /** Switches to the next member, unless another call has. */
  #leave(member: Connected): void {
    const at = this.#members.indexOf(member);
    if (this.#current === member) this.#current = this.#members[(at + 1) % this.#members.length]!;
  }
}

function methodOf(name: string): { service: string; method: string } {
  const [service = '', method = ''] = name.split('/');
  return { service: `${ETCD_TABLE.package}.${service}`, method };
}
