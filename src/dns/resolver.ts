/**
 * Answers questions: names of the cluster from the zone, everything else from the forwarder. A name inside the zone that
 * does not exist is NXDOMAIN; one that exists without the asked type is an empty answer; a failing upstream is SERVFAIL,
 * never silence. Upstream: CoreDNS's kubernetes plugin with forward behind it.
 */
import { MAX_RECORDS } from './record-index.ts';
import type { Rcode } from './record-types.ts';
import { addressOfReverseName } from './reverse-names.ts';
import type { DnsRecord } from './service-records.ts';
import type { Zone } from './zone.ts';

/** A question, lower case, without the trailing dot. */
export interface Question {
  readonly name: string;
  readonly type: string;
}

/** The content of the response. */
export interface Answer {
  readonly rcode: Rcode;
  readonly authoritative: boolean;
  readonly answers: readonly ResourceRecord[];
  readonly authorities: readonly ResourceRecord[];
  readonly additionals: readonly ResourceRecord[];
  /** Monotonic expiry; absent: valid while the zone is unchanged. 0: not to be cached. */
  readonly validUntilMs?: number;
}

/** A record as dns-packet encodes it. */
export interface ResourceRecord {
  readonly type: string;
  readonly name: string;
  readonly ttl: number;
  readonly data: unknown;
}

/** Asks external servers. Rejects when none answers. */
export interface Forwarder {
  resolve(question: Question): Answer | Promise<Answer>;
}

export interface ResolverDeps {
  readonly zone: Zone;
  readonly forwarder: Forwarder;
  /** Whether the zone is complete. Until then a missing name may only be late: SERVFAIL. */
  isReady(): boolean;
}

/** Answers a question; at once where the answer is in memory. Never rejects. */
export type Resolver = (question: Question) => Answer | Promise<Answer>;

/** TTL of cluster records, the default of CoreDNS's configuration. */
const TTL_SECONDS = 30;
/** TTL of names that do not exist, short for clients that wait for a service. */
const NEGATIVE_TTL_SECONDS = 5;
const MAX_ALIASES = 8;

/** The answer when no server could resolve the name. */
export const FAILED: Answer = {
  rcode: 'SERVFAIL',
  authoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
  validUntilMs: 0,
};

export function createResolver(deps: ResolverDeps): Resolver {
  const { zone, forwarder } = deps;
  return (question) => {
    if (isInside(question.name, zone)) return deps.isReady() ? answerFromZone(deps, question, 0) : FAILED;
    const address = question.type === 'PTR' ? addressOfReverseName(question.name) : undefined;
    const names = address === undefined ? [] : zone.reverse(address);
    if (names.length > 0)
      return authoritativeAnswer(names.map((target) => encode({ type: 'PTR', name: question.name, target })));
    return forward(forwarder, question);
  };
}

function isInside(name: string, zone: Zone): boolean {
  return name === zone.domain || name.endsWith(`.${zone.domain}`);
}

function forward(forwarder: Forwarder, question: Question): Answer | Promise<Answer> {
  const answer = forwarder.resolve(question);
  return answer instanceof Promise ? answer.catch(() => FAILED) : answer;
}

function answerFromZone(deps: ResolverDeps, { name, type }: Question, depth: number): Answer | Promise<Answer> {
  const { zone } = deps;
  if (name === zone.domain && (type === 'SOA' || type === 'NS'))
    return authoritativeAnswer([type === 'SOA' ? soaOf(zone) : nsOf(zone)]);
  const matching = zone.lookup(name, type);
  if (matching === undefined) return negative(zone, 'NXDOMAIN');
  const alias = zone.lookup(name, 'CNAME')?.find(isAlias);
  if (alias !== undefined && type !== 'CNAME' && type !== 'ANY') return followAlias(deps, { alias, type }, depth);
  if (matching.length === 0) return negative(zone, 'NOERROR');
  const weight = Math.max(1, Math.floor(100 / matching.length));
  return {
    ...authoritativeAnswer(matching.map((r) => encode(r, weight))),
    additionals: targetAddresses(matching, zone),
  };
}

/** No more than an answer holds. */
function targetAddresses(records: readonly DnsRecord[], zone: Zone): ResourceRecord[] {
  const targets = new Set(records.flatMap((record) => (record.type === 'SRV' ? [record.target] : [])));
  const addresses: ResourceRecord[] = [];
  for (const target of targets)
    for (const type of ['A', 'AAAA'])
      for (const record of zone.lookup(target, type) ?? []) {
        if (addresses.length === MAX_RECORDS) return addresses;
        addresses.push(encode(record));
      }
  return addresses;
}

type Alias = DnsRecord & { readonly type: 'CNAME'; readonly target: string };

function isAlias(record: DnsRecord): record is Alias {
  return record.type === 'CNAME';
}

/** An ExternalName service: its CNAME and, if it can be resolved, the records of the target. */
function followAlias(
  deps: ResolverDeps,
  { alias, type }: { alias: Alias; type: string },
  depth: number,
): Answer | Promise<Answer> {
  const next = { name: alias.target, type };
  const withAlias = (rest: Answer): Answer => {
    if (rest.rcode === 'SERVFAIL') return { ...authoritativeAnswer([encode(alias)]), validUntilMs: 0 };
    return { ...rest, authoritative: true, answers: [encode(alias), ...rest.answers] };
  };
  if (depth >= MAX_ALIASES) return withAlias(FAILED);
  const rest = isInside(next.name, deps.zone) ? answerFromZone(deps, next, depth + 1) : forward(deps.forwarder, next);
  return rest instanceof Promise ? rest.then(withAlias) : withAlias(rest);
}

function authoritativeAnswer(answers: readonly ResourceRecord[]): Answer {
  return { rcode: 'NOERROR', authoritative: true, answers, authorities: [], additionals: [] };
}

function negative(zone: Zone, rcode: 'NOERROR' | 'NXDOMAIN'): Answer {
  return { rcode, authoritative: true, answers: [], authorities: [soaOf(zone)], additionals: [] };
}

function soaOf({ domain, version }: Zone): ResourceRecord {
  const data = {
    mname: `ns.dns.${domain}`,
    rname: `hostmaster.${domain}`,
    serial: version,
    refresh: 7200,
    retry: 1800,
    expire: 86_400,
    minimum: NEGATIVE_TTL_SECONDS,
  };
  return { type: 'SOA', name: domain, ttl: NEGATIVE_TTL_SECONDS, data };
}

function nsOf({ domain }: Zone): ResourceRecord {
  return { type: 'NS', name: domain, ttl: TTL_SECONDS, data: `ns.dns.${domain}` };
}

function encode(record: DnsRecord, weight = 100): ResourceRecord {
  const { name } = record;
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return { type: record.type, name, ttl: TTL_SECONDS, data: record.address };
    case 'CNAME':
    case 'PTR':
      return { type: record.type, name, ttl: TTL_SECONDS, data: record.target };
    case 'SRV':
      return {
        type: 'SRV',
        name,
        ttl: TTL_SECONDS,
        data: { priority: 0, weight, port: record.port, target: record.target },
      };
    case 'TXT':
      return { type: 'TXT', name, ttl: TTL_SECONDS, data: record.text };
  }
}
