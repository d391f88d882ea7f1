// DNS messages: valid queries, then invalid headers, names, pointers and records.
import { chance, pick, type Random } from '../draw.ts';
import { type DnsExchange, textOf } from '../exchange.ts';
import { mutateBytes } from '../values/mutate-bytes.ts';

const names = [
  'kubernetes.default.svc.cluster.local',
  '_https._tcp.kubernetes.default.svc.cluster.local',
  'absent.default.svc.cluster.local',
  'cluster.local',
  'dns-version.cluster.local',
  '1-2-3-4.default.pod.cluster.local',
  '1.0.43.10.in-addr.arpa',
  `${'0.'.repeat(31)}1.ip6.arpa`,
  '999.999.in-addr.arpa',
  'other.example',
  '__proto__.constructor.svc.cluster.local',
  'a.b.c.d.e.f.g.svc.cluster.local',
  '',
  '*',
  'KuBeRnEtEs.DeFaUlT.sVc.ClUsTeR.lOcAl',
  `${'a'.repeat(63)}.default.svc.cluster.local`,
  '\0\x01\xff.default.svc.cluster.local',
];
const types = [1, 28, 33, 12, 16, 6, 2, 5, 255, 252, 251, 41, 65, 0, 65_535];

const uint16 = (...values: readonly number[]): string =>
  values.map((value) => String.fromCharCode((value >> 8) & 255, value & 255)).join('');

/** A name in labels; `ends` follows them, a zero byte or a pointer. */
const labels = (name: string, ends: string): string =>
  name
    .split('.')
    .filter((label) => label !== '')
    .map((label) => String.fromCharCode(label.length) + label)
    .join('') + ends;

function question(random: Random): string {
  const ends = chance(random, 0.9)
    ? '\0'
    : pick(random, ['\xc0\x0c', '\xc0\x00', '\xff\xff', '\xc0', '', '\x40a', '\x80\0']);
  return labels(pick(random, names), ends) + uint16(pick(random, types), pick(random, [1, 1, 1, 3, 255, 0]));
}

const option = (random: Random): string =>
  pick(random, [
    '\0\0\x29\x10\0\0\0\0\0\0\0',
    '\0\0\x29\0\0\xff\xff\x80\0\0\x04\0\x03\0\xff',
    '\0\0\x29\xff\xff\0\0\0\0\0\x0c\0\x0a\0\x08abcdefgh',
    '\0\0\x29',
    '\xc0\x0c\0\x01\0\x01\0\0\0\0\xff\xff',
  ]);

export function dnsMessage(random: Random): string {
  const count = pick(random, [1, 1, 1, 1, 1, 0, 2, 300]);
  const flags = pick(random, [0x0100, 0x0100, 0x0100, 0, 0x8180, 0x7800, 0x2000, 0xffff]);
  const claimed = chance(random, 0.95) ? count : pick(random, [0, 1, 65_535]);
  const additional = chance(random, 0.3) ? 1 : 0;
  const records = chance(random, 0.95) ? [0, 0, additional] : [random.int(65_536), random.int(9), 65_535];
  const head = uint16(random.int(65_536), flags, claimed, ...records);
  const message =
    head + Array.from({ length: count }, () => question(random)).join('') + (additional ? option(random) : '');
  return chance(random, 0.3) ? mutateBytes(random, message, 1 + random.int(3)) : message;
}

export function dnsExchange(random: Random): DnsExchange {
  if (!chance(random, 0.15)) return { kind: 'dns', over: 'udp', bytes: dnsMessage(random).slice(0, 60_000) };
  const framed = Array.from({ length: random.int(4) }, () => {
    const message = dnsMessage(random);
    return uint16(chance(random, 0.9) ? message.length : random.int(65_536)) + message;
  }).join('');
  return { kind: 'dns', over: 'tcp', bytes: chance(random, 0.1) ? textOf(random.bytes(40)) : framed };
}
