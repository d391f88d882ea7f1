/**
 * Serves DNS over UDP and TCP. Every query gets a response: malformed, refused and failed ones get the matching code.
 * Upstream: CoreDNS's server.
 *
 * The hot path is a map from a query's bytes (without its id) to the encoded response: a frequent name costs one
 * lookup and one copy. Encoded responses are valid while the zone is unchanged and as long as the answer says.
 */
import { ConnectionCount } from '../base/connection-count.ts';
import { hasErrorCode } from '../base/errors.ts';
import { WeighedLru } from '../base/weighed-lru.ts';
import type { Clock } from '../platform/clock.ts';
import type { Datagrams, SocketAddress } from '../platform/datagrams.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Random } from '../platform/random.ts';
import { createDnsMetrics, type DnsMetrics } from './dns-metrics.ts';
import { parseQuery, type Query } from './query.ts';
import { weightOf } from './answer-weight.ts';
import { FAILED, type Answer, type Resolver, type ResourceRecord } from './resolver.ts';
import { encodeError, encodeResponse } from './response.ts';
import { serveStream } from './stream-connection.ts';
import { background, isProgramError } from '../platform/unexpected.ts';

export interface DnsServerDeps {
  readonly platform: {
    readonly datagrams: Datagrams;
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Log;
    readonly metrics: Metrics;
  };
  readonly resolve: Resolver;
  /** Changes when cached answers may be invalid. */
  zoneVersion(): number;
}

/** The addresses to listen on, for UDP and TCP. */
export interface DnsServerConfig {
  readonly listen: readonly SocketAddress[];
}

export interface DnsServer {
  /** Opens all sockets; rejects with Node's code when one cannot be opened, and closes the others. */
  start(): Promise<void>;
  /** The addresses it listens on, with the chosen ports. */
  addresses(): readonly SocketAddress[];
  stop(): Promise<void>;
}

type Transport = 'udp' | 'tcp';

/**
 * A cached answer with its encoded responses: one per rotation of its records, created at first use and returned in
 * turn.
 */
interface CachedAnswer {
  readonly version: number;
  readonly untilMs: number;
  readonly query: Query;
  readonly answer: Answer;
  readonly orders: (Buffer | undefined)[];
  next: number;
}

const MAX_CACHED_RESPONSES = 10_000;
/** The size of each transport's cache, as `weightOf` estimates it. */
const MAX_CACHED_BYTES = 16 * 1024 * 1024;
/** Longer queries are not cached, as they have parts that never repeat. */
const MAX_CACHED_QUERY_BYTES = 512;
const MAX_ORDERS = 8;
const MIN_UDP_SIZE = 512;
/** Larger datagrams are fragmented and often lost; TCP is better then. */
const MAX_UDP_SIZE = 4096;
const MAX_MESSAGE = 65_535;
/** Attempts to find a port that is free for UDP and TCP. */
const MAX_ATTEMPTS = 5;
const MAX_CONNECTIONS = { total: 1000, ofOneAddress: 100 };

export function createDnsServer(deps: DnsServerDeps, config: DnsServerConfig): DnsServer {
  const { datagrams, clock, log } = deps.platform;
  const metrics = createDnsMetrics(deps.platform);
  const answer = createMessageHandler(deps, metrics);
  const open: { local: SocketAddress; close(): Promise<void> }[] = [];
  const connections = new ConnectionCount(MAX_CONNECTIONS);

  async function openUdp(at: SocketAddress): Promise<SocketAddress> {
    const socket = await datagrams.openDatagrams(at, (data, from) => {
      const message = data instanceof Buffer ? data : Buffer.from(data);
      const result = answer(message, 'udp');
      if (result === undefined) return;
      if (result instanceof Promise)
        background(
          log,
          'a query could not be answered',
          result.then((late) => socket.send(late, from)),
        );
      else socket.send(result, from);
    });
    open.push(socket);
    return socket.local;
  }
  async function openTcp(at: SocketAddress): Promise<void> {
    open.push(
      await datagrams.listenStreams(at, (connection, { address }) => {
        if (!connections.enter(address)) return connection.destroy();
        background(
          log,
          'a query could not be answered',
          serveStream({ clock, connection, client: address, answer: (message) => answer(message, 'tcp') }).finally(() =>
            connections.leave(address),
          ),
        );
      }),
    );
  }
  /** Where any port will do, another one is taken when a program has the first one for TCP. */
  async function openBoth(at: SocketAddress): Promise<SocketAddress> {
    for (let attempt = 1; ; attempt++) {
      const local = await openUdp(at);
      try {
        await openTcp({ address: at.address, port: local.port });
        return local;
      } catch (error) {
        if (at.port !== 0 || attempt === MAX_ATTEMPTS || !hasErrorCode(error, 'EADDRINUSE')) throw error;
        await open.pop()?.close();
      }
    }
  }
  async function stop(): Promise<void> {
    metrics.stop();
    await Promise.all(open.splice(0).map((socket) => socket.close()));
  }
  let addresses: readonly SocketAddress[] = [];
  return {
    async start() {
      try {
        const opened: SocketAddress[] = [];
        for (const at of config.listen) {
          opened.push(await openBoth(at));
        }
        addresses = opened;
      } catch (error) {
        await stop();
        throw error;
      }
      metrics.start();
      log.info('serving DNS', { addresses: addresses.map((a) => `${a.address}:${a.port}`) });
    },
    addresses: () => addresses,
    stop,
  };
}

/** Encodes the response to a message; undefined when there must be none. Promises never reject. */
type MessageHandler = (message: Buffer, transport: Transport) => Buffer | Promise<Buffer> | undefined;

function createMessageHandler({ resolve, zoneVersion, platform }: DnsServerDeps, metrics: DnsMetrics): MessageHandler {
  const { clock, log, random } = platform;
  const newCache = (): WeighedLru<string, CachedAnswer> => new WeighedLru(MAX_CACHED_RESPONSES, MAX_CACHED_BYTES);
  const caches = { udp: newCache(), tcp: newCache() };

  function fromCache(key: string, message: Buffer, transport: Transport): Buffer | undefined {
    const entry = caches[transport].get(key);
    if (entry === undefined) return undefined;
    if (entry.version !== zoneVersion() || (entry.untilMs !== Infinity && entry.untilMs <= clock.monotonicMs())) {
      caches[transport].delete(key);
      return undefined;
    }
    const order = nextOrder(entry, transport);
    metrics.answered(transport, entry.query.type, entry.answer.rcode);
    const response = Buffer.from(order);
    response[0] = message[0] as number;
    response[1] = message[1] as number;
    return response;
  }
  function encodeAndCache(query: Query, answer: Answer, cacheKey: { key: string; transport: Transport }): Buffer {
    const { key, transport } = cacheKey;
    metrics.answered(transport, query.type, answer.rcode);
    const orders = Math.min(answer.answers.filter((r) => r.type === query.type).length, MAX_ORDERS) || 1;
    const entry: CachedAnswer = {
      version: zoneVersion(),
      untilMs: answer.validUntilMs ?? Infinity,
      answer,
      // The question is a view of a buffer that the socket may reuse.
      query: { ...query, question: Buffer.from(query.question) },
      orders: Array.from({ length: orders }, () => undefined),
      next: orders === 1 ? 0 : random.int(orders),
    };
    const response = nextOrder(entry, transport);
    if (answer.validUntilMs !== 0 && key.length <= MAX_CACHED_QUERY_BYTES)
      caches[transport].set(key, entry, 2 * key.length + orders * response.length + weightOf(answer));
    return response;
  }
  return (message, transport) => {
    const key = message.toString('latin1', 2);
    const known = fromCache(key, message, transport);
    if (known !== undefined) return known;
    const query = parseQuery(message);
    if (query === undefined) return undefined;
    if ('rcode' in query) {
      metrics.answered(transport, 'other', query.rcode);
      return encodeError({ ...query, edns: undefined }, query.rcode);
    }
    if (query.edns !== undefined && query.edns.version > 0) {
      metrics.answered(transport, query.type, 'BADVERS');
      return encodeError(query, 'BADVERS');
    }
    try {
      const answer = resolve(query);
      if (!(answer instanceof Promise)) return encodeAndCache(query, answer, { key, transport });
      return answer
        .then((late) => encodeAndCache(query, late, { key, transport }))
        .catch((error: unknown) => failed(query, error, transport));
    } catch (error) {
      return failed(query, error, transport);
    }
  };

  function failed(query: Query, error: unknown, transport: Transport): Buffer {
    const { name, type } = query;
    if (isProgramError(error)) log.unexpected('a query could not be answered', error, { name, type });
    else log.error('a query could not be answered', { name, type, err: error });
    metrics.answered(transport, query.type, FAILED.rcode);
    return encodeError(query, FAILED.rcode);
  }
}

/** The next response in turn. Clients use the first address, so each rotation begins with another one. */
function nextOrder(entry: CachedAnswer, transport: Transport): Buffer {
  const { query, answer, orders, next } = entry;
  entry.next = next + 1 === orders.length ? 0 : next + 1;
  const answers = orders.length === 1 ? answer.answers : rotated(answer.answers, query.type, next);
  return (orders[next] ??= encodeResponse(
    { ...query, ...answer, answers },
    transport === 'tcp' ? MAX_MESSAGE : udpLimit(query),
  ));
}

/** Rotates the records of the queried type; aliases stay in front of them. */
function rotated(records: readonly ResourceRecord[], type: string, by: number): readonly ResourceRecord[] {
  const turning = records.filter((r) => r.type === type);
  return [...records.filter((r) => r.type !== type), ...turning.slice(by), ...turning.slice(0, by)];
}

function udpLimit({ edns }: Query): number {
  return edns === undefined ? MIN_UDP_SIZE : Math.min(Math.max(edns.udpSize, MIN_UDP_SIZE), MAX_UDP_SIZE);
}
