/**
 * Calls to an etcd cluster: one connection per member, made when it is needed; the member in use is kept until it fails.
 * Upstream: clientv3 with its balancer and retry policy.
 *
 * Invariants: a write is tried again only where the earlier try cannot have happened; a read is tried at every member,
 * twice, within its deadline. A member without a leader counts as failed (`hasleader`), also for running watches.
 */
import { createGrpcCaller, type GrpcCaller, type GrpcTls } from '../../grpc/grpc-caller.ts';
import type { Clock } from '../../platform/clock.ts';
import { isMembersFault, isUndone, storeErrorOf } from './errors.ts';
import { type EtcdAnswers, etcdTable, mvccTable } from './etcd-table.ts';

/** Where etcd is. */
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
const ROUNDS = 3;

/** A cluster's client. */
export class EtcdClient {
  readonly endpoints: readonly string[];
  readonly #callers: readonly GrpcCaller[];
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  /** Index of the member in use. */
  #current = 0;

  constructor({ clock }: { readonly clock: Clock }, config: EtcdClientConfig) {
    this.#clock = clock;
    this.#timeoutMs = config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.endpoints = config.endpoints;
    const { tls } = config;
    this.#callers = config.endpoints.map((url) =>
      createGrpcCaller(
        { clock },
        {
          target: { url, ...(tls && { tls }) },
          tables: [mvccTable, etcdTable],
          headers: { hasleader: 'true' },
        },
      ),
    );
  }

  /** One call with an answer. Rejects with `StoreError`. */
  async call<Name extends keyof EtcdAnswers>(name: Name, request: object, call: EtcdCall): Promise<EtcdAnswers[Name]> {
    const deadlineMs = this.#clock.monotonicMs() + this.#timeoutMs;
    for (let attempt = 1; ; attempt++) {
      const timeoutMs = Math.max(1, deadlineMs - this.#clock.monotonicMs());
      const member = this.#current;
      try {
        return (await this.#callers[member]!.unary(methodOf(name), request, { timeoutMs })) as EtcdAnswers[Name];
      } catch (error) {
        if (isMembersFault(error)) this.#leave(member);
        const again = call.writes === true ? isUndone(error) : isMembersFault(error);
        const over = attempt >= this.endpoints.length * ROUNDS || this.#clock.monotonicMs() >= deadlineMs;
        if (!again || over) throw storeErrorOf(error, { doing: call.doing, writes: call.writes ?? false });
      }
      if (attempt % this.endpoints.length === 0) await this.#clock.sleep(ROUND_PAUSE_MS);
    }
  }

  /** A streaming call at the member in use; the caller begins anew when it breaks. Rejects with `GrpcError`. */
  async *stream(name: string, requests: object | AsyncIterable<object>, signal: AbortSignal): AsyncIterable<object> {
    const member = this.#current;
    try {
      yield* this.#callers[member]!.stream(methodOf(name), requests, { signal });
    } catch (error) {
      if (isMembersFault(error)) this.#leave(member);
      throw error;
    }
  }

  /** Closes the connections. */
  close(): void {
    for (const caller of this.#callers) caller.disconnect();
  }

  /** The next member takes over, unless one has already. */
  #leave(member: number): void {
    if (this.#current === member) this.#current = (member + 1) % this.#callers.length;
  }
}

function methodOf(name: string): { service: string; method: string } {
  const [service = '', method = ''] = name.split('/');
  return { service: `${etcdTable.package}.${service}`, method };
}
