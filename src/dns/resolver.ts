/**
 * Answers questions: names of the cluster from the zone, everything else from the forwarder. A name inside the zone that
 * does not exist is NXDOMAIN; one that exists without the asked type is an empty answer; a failing upstream is SERVFAIL,
 * never silence.
 */
import type { DnsRecord, Zone } from './zone.ts';

/** A question, lower case, without the trailing dot. */
export interface Question {
  readonly name: string;
  readonly type: string;
}

/** What goes into the response. */
export interface Answer {
  readonly rcode: 'NOERROR' | 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' | 'NOTIMP';
  readonly authoritative: boolean;
  readonly answers: readonly ResourceRecord[];
  readonly additionals: readonly ResourceRecord[];
  /** Put the zone's SOA into the authority section. */
  readonly soa: boolean;
}

/** A record as dns-packet encodes it. */
export interface ResourceRecord {
  readonly type: string;
  readonly name: string;
  readonly ttl: number;
  readonly data: unknown;
}

/** Asks the servers of the outer world. Rejects when none answers. */
export interface Forwarder {
  resolve(question: Question): Promise<Answer>;
}

/** Seconds, as CoreDNS's default for cluster names. */
const TTL_SECONDS = 30;
const FAILED: Answer = { rcode: 'SERVFAIL', authoritative: false, answers: [], additionals: [], soa: false };

/** Creates the resolver. `shuffle` varies the order of addresses, so that clients spread. */
export function createResolver(zone: Zone, forwarder: Forwarder, shuffle: <T>(list: readonly T[]) => readonly T[]): (question: Question) => Answer | Promise<Answer> {
  const inside = (name: string): boolean => name === zone.domain || name.endsWith(`.${zone.domain}`);
  return (question) => {
    if (inside(question.name)) return answerFromZone(zone, question, { shuffle, forwarder });
    const address = question.type === 'PTR' ? addressOfReverseName(question.name) : undefined;
    const names = address === undefined ? [] : zone.reverse(address);
    if (names.length > 0) return authoritative(names.map((target) => encode({ type: 'PTR', name: question.name, target })));
    return forwarder.resolve(question).catch(() => FAILED);
  };
}

function answerFromZone(zone: Zone, { name, type }: Question, using: { shuffle: <T>(list: readonly T[]) => readonly T[]; forwarder: Forwarder }): Answer | Promise<Answer> {
  const records = zone.lookup(name);
  if (records === undefined) return { rcode: 'NXDOMAIN', authoritative: true, answers: [], additionals: [], soa: true };
  const alias = records.find((r) => r.type === 'CNAME');
  if (alias !== undefined && type !== 'CNAME') return followAlias(alias as DnsRecord & { target: string }, type, { zone, ...using });
  const matching = using.shuffle(records.filter((r) => r.type === type || type === 'ANY'));
  if (matching.length === 0) return { rcode: 'NOERROR', authoritative: true, answers: [], additionals: [], soa: true };
  const targets = [...new Set(matching.flatMap((r) => (r.type === 'SRV' ? [r.target] : [])))];
  const additionals = targets.flatMap((t) => (zone.lookup(t) ?? []).filter((r) => r.type === 'A' || r.type === 'AAAA').map(encode));
  return { ...authoritative(matching.map(encode)), additionals };
}

/** An ExternalName service: its alias and, where it can be had, what the alias resolves to. */
async function followAlias(
  alias: DnsRecord & { target: string }, type: string, using: { zone: Zone; shuffle: <T>(list: readonly T[]) => readonly T[]; forwarder: Forwarder },
): Promise<Answer> {
  const next = { name: alias.target, type };
  const inside = alias.target.endsWith(`.${using.zone.domain}`);
  const rest = await (inside && using.zone.lookup(alias.target)?.some((r) => r.type === 'CNAME') !== true
    ? answerFromZone(using.zone, next, using)
    : inside ? FAILED : using.forwarder.resolve(next).catch(() => FAILED));
  return { ...authoritative([encode(alias), ...rest.answers]), rcode: rest.rcode === 'SERVFAIL' ? 'NOERROR' : rest.rcode };
}

function authoritative(answers: readonly ResourceRecord[]): Answer {
  return { rcode: 'NOERROR', authoritative: true, answers, additionals: [], soa: false };
}

function encode(record: DnsRecord): ResourceRecord {
  const { name } = record;
  switch (record.type) {
    case 'A': case 'AAAA': return { type: record.type, name, ttl: TTL_SECONDS, data: record.address };
    case 'CNAME': case 'PTR': return { type: record.type, name, ttl: TTL_SECONDS, data: record.target };
    case 'SRV': return { type: 'SRV', name, ttl: TTL_SECONDS, data: { priority: 0, weight: 100, port: record.port, target: record.target } };
    case 'TXT': return { type: 'TXT', name, ttl: TTL_SECONDS, data: record.text };
  }
}

/** `7.0.42.10.in-addr.arpa` → `10.42.0.7`; IPv6 nibbles likewise. */
export function addressOfReverseName(name: string): string | undefined {
  if (name.endsWith('.in-addr.arpa')) {
    const labels = name.slice(0, -'.in-addr.arpa'.length).split('.');
    return labels.length === 4 ? labels.toReversed().join('.') : undefined;
  }
  if (!name.endsWith('.ip6.arpa')) return undefined;
  const nibbles = name.slice(0, -'.ip6.arpa'.length).split('.').toReversed();
  if (nibbles.length !== 32) return undefined;
  const groups = Array.from({ length: 8 }, (_, i) => nibbles.slice(i * 4, i * 4 + 4).join('').replace(/^0+(?=.)/, ''));
  return compressIpv6(groups);
}

/** The longest run of zero groups becomes `::`, as addresses are written elsewhere. */
function compressIpv6(groups: readonly string[]): string {
  const text = groups.join(':');
  const runs = text.match(/(?:^|:)0(?::0)+(?=:|$)/g) ?? [];
  const longest = runs.sort((a, b) => b.length - a.length)[0];
  return longest === undefined ? text : text.replace(longest, ':').replace(/^:(?!:)/, '::').replace(/([^:]):$/, '$1::').replace(':::', '::');
}
