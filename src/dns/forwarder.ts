/**
 * Resolves names outside the cluster: asks the host's name servers, one after the other, and caches their answers.
 * Equal concurrent questions share one exchange; without a server the answer is SERVFAIL at once. Upstream: CoreDNS's
 * forward and cache plugins.
 */
import type { Packet, Record as PacketRecord } from 'dns-packet';
import { WeighedLru } from '../base/weighed-lru.ts';
import type { SocketAddress } from '../platform/datagrams.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { weightOf } from './answer-weight.ts';
import { exchange, type ExchangeDeps } from './exchange.ts';
import type { Upstreams } from './resolv-conf.ts';
import { FAILED, type Answer, type Forwarder, type Question, type ResourceRecord } from './resolver.ts';
import { smallest } from '../base/lists.ts';

export interface ForwarderDeps extends ExchangeDeps {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly upstreams: Upstreams;
}

/** Domains with their own servers; the longest match applies. */
export interface StubDomain {
  readonly domain: string;
  readonly servers: readonly SocketAddress[];
}

interface Cached {
  readonly answer: Answer;
  readonly storedMs: number;
  readonly untilMs: number;
}

const TIMEOUT_MS = 2_000;
const MIN_TRIES = 2;
const MAX_TRIES = 4;
const MAX_UNDER_WAY = 1_000;
const CACHED_ANSWERS = 10_000;
/** In bytes of `weightOf`, since outside servers determine how large answers are. */
const CACHED_BYTES = 16 * 1024 * 1024;
const MAX_POSITIVE_SECONDS = 3_600;
const MAX_NEGATIVE_SECONDS = 30;
/** How long encoded responses are kept, so that the TTLs in them decrease. */
const KEEP_ENCODED_MS = 1_000;

/** `resolve` rejects only when too many queries are in progress or no server answered. */
export function createForwarder(deps: ForwarderDeps, stubDomains: readonly StubDomain[] = []): Forwarder {
  const { clock, log } = deps;
  const cache = new WeighedLru<string, Cached>(CACHED_ANSWERS, CACHED_BYTES);
  const underWay = new Map<string, Promise<Answer>>();
  const stubs = stubDomains.toSorted((a, b) => b.domain.length - a.domain.length);
  const hits = deps.metrics.counter({ name: 'coredns_cache_hits_total', help: 'The count of cache hits.' });
  const misses = deps.metrics.counter({ name: 'coredns_cache_misses_total', help: 'The count of cache misses.' });
  const duration = deps.metrics.histogram({
    name: 'coredns_proxy_request_duration_seconds',
    help: 'Histogram of the time each request took.',
    buckets: [0.001, 0.004, 0.016, 0.064, 0.25, 1, 4, 16],
  });
  let lastGood = 0;

  async function serversFor(name: string): Promise<readonly SocketAddress[]> {
    const stub = stubs.find(({ domain }) => name === domain || name.endsWith(`.${domain}`));
    return stub?.servers ?? (await deps.upstreams.current());
  }
  async function ask(question: Question): Promise<Answer> {
    const servers = await serversFor(question.name);
    if (servers.length === 0) return FAILED;
    const startMs = clock.monotonicMs();
    let problem: unknown;
    for (let i = 0; i < Math.min(Math.max(servers.length, MIN_TRIES), MAX_TRIES); i++) {
      const index = (lastGood + i) % servers.length;
      try {
        const packet = await exchange(deps, {
          server: servers[index] as SocketAddress,
          question,
          timeoutMs: TIMEOUT_MS,
        });
        if (packet.rcode === 'NOERROR' || packet.rcode === 'NXDOMAIN') {
          lastGood = index;
          duration.observe((clock.monotonicMs() - startMs) / 1000);
          return keep(question, packet);
        }
        problem = new Error(`${servers[index]?.address} answered ${packet.rcode}`);
      } catch (error) {
        problem = error;
      }
    }
    log.debug('no name server answered', { name: question.name, type: question.type, err: problem });
    return FAILED;
  }
  function keep(question: Question, packet: Packet): Answer {
    const answer = answerOf(packet);
    const seconds = cacheSeconds(answer);
    if (seconds <= 0) return { ...answer, validUntilMs: 0 };
    const storedMs = clock.monotonicMs();
    const cached = { answer, storedMs, untilMs: storedMs + seconds * 1000 };
    const key = keyOf(question);
    cache.set(key, cached, 2 * key.length + weightOf(answer));
    return withReducedTtls(cached, storedMs);
  }
  return {
    resolve(question) {
      const key = keyOf(question);
      const nowMs = clock.monotonicMs();
      const cached = cache.get(key);
      if (cached !== undefined && cached.untilMs > nowMs) {
        hits.inc();
        return withReducedTtls(cached, nowMs);
      }
      const running = underWay.get(key);
      if (running !== undefined) return running;
      if (underWay.size >= MAX_UNDER_WAY) return FAILED;
      misses.inc();
      const pending = ask(question).finally(() => underWay.delete(key));
      underWay.set(key, pending);
      return pending;
    },
  };
}

function keyOf({ name, type }: Question): string {
  return `${type} ${name}`;
}

/** The answer with its TTLs reduced by its age. */
function withReducedTtls({ answer, storedMs, untilMs }: Cached, nowMs: number): Answer {
  const age = Math.floor((nowMs - storedMs) / 1000);
  const older = (records: readonly ResourceRecord[]): readonly ResourceRecord[] =>
    records.map((r) => ({ ...r, ttl: Math.max(0, Math.min(r.ttl, MAX_POSITIVE_SECONDS) - age) }));
  return {
    ...answer,
    answers: older(answer.answers),
    authorities: older(answer.authorities),
    additionals: older(answer.additionals),
    validUntilMs: Math.min(untilMs, nowMs + KEEP_ENCODED_MS),
  };
}

function answerOf(packet: Packet): Answer {
  const records = (list: readonly PacketRecord[]): ResourceRecord[] =>
    list
      .filter((r) => r.type !== 'OPT')
      .map((r) => ({ type: r.type, name: r.name.toLowerCase(), ttl: r.ttl ?? 0, data: r.data }));
  return {
    rcode: packet.rcode as 'NOERROR' | 'NXDOMAIN',
    authoritative: false,
    answers: records(packet.answers),
    authorities: records(packet.authorities),
    additionals: records(packet.additionals),
  };
}

/** How long an answer may be cached; 0 for a negative one without SOA (RFC 2308). */
function cacheSeconds({ rcode, answers, authorities }: Answer): number {
  if (rcode === 'NOERROR' && answers.length > 0)
    return smallest(
      answers.map((r) => r.ttl),
      MAX_POSITIVE_SECONDS,
    );
  const soa = authorities.find((r) => r.type === 'SOA');
  return soa === undefined
    ? 0
    : Math.min(MAX_NEGATIVE_SECONDS, soa.ttl, (soa.data as { minimum?: number }).minimum ?? 0);
}
