/** Compares the rules of a policy with each pair of peer and port; also the cost of the largest policies. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import type {
  NetworkPolicy,
  NetworkPolicyIngressRule,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from '../../api/gen/networking-v1.ts';
import { cidrContains, parseCidr, parseIp } from '../../base/cidr.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { elementsOf, type PodView } from './policy-pods.ts';
import { directionVerdict, readForReach, type OpenPorts, type ReadPolicy } from './policy-reach.ts';
import { readPolicy, type Direction, type PolicyView } from './policy-rules.ts';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const policyOf = (ingress: NetworkPolicyIngressRule[]): NetworkPolicy => ({
  metadata: { namespace: 'ns', name: 'p' },
  spec: { podSelector: {}, ingress },
});
const read = (ingress: NetworkPolicyIngressRule[]): PolicyView =>
  readPolicy(policyOf(ingress), { family: 4, sha256Hex });

interface Packet {
  readonly source: string;
  readonly protocol: string;
  readonly port: number;
}

const target: PodView = {
  namespace: 'ns',
  labels: { app: 'db' },
  address: '10.0.0.1',
  here: true,
  ports: [
    { name: 'a', protocol: 'tcp', port: 2 },
    { name: 'a', protocol: 'udp', port: 5 },
    { name: 'b', protocol: 'tcp', port: 7 },
  ],
};
const web: PodView = { namespace: 'ns', labels: { app: 'web' }, address: '10.0.0.6', here: false, ports: [] };
const pods = [target, web];

/** Whether a rule in the format of this table accepts the packet, between the selected pod and `source`. */
function takes(line: string, packet: Packet, view: PolicyView, direction: Direction = 'ingress'): boolean {
  const elements = (name: string): readonly string[] => {
    const set = view[direction]?.sets.find((known) => known.name === name);
    assert.ok(set !== undefined, name);
    return pods.flatMap((pod) => elementsOf(set, pod, () => ({})));
  };
  const among = (text: string, value: string, inRange: (range: string) => boolean): boolean =>
    text.startsWith('@')
      ? elements(text.slice(1)).includes(value)
      : text
          .replace(/[{}]/g, '')
          .split(',')
          .some((range) => inRange(range.trim()));
  const matched =
    /^(?:ip [sd]addr (?<from>\{[^}]*\}|\S+) )?(?:meta l4proto (?<whole>\w+) )?(?:(?<of>tcp|udp|sctp) dport (?<ports>\{[^}]*\}|\S+) )?(?:ip daddr \. meta l4proto \. th dport (?<named>\S+) )?accept$/.exec(
      line,
    );
  assert.ok(matched?.groups !== undefined, line);
  const { from, whole, of, ports, named } = matched.groups as Record<string, string | undefined>;
  const { source, protocol, port } = packet;
  const receiver = direction === 'ingress' ? target.address : source;
  return (
    (from === undefined || among(from, source, (range) => holds(range, source))) &&
    (whole === undefined || whole === protocol) &&
    (ports === undefined || (of === protocol && among(ports, '', (range) => spans(range, port)))) &&
    (named === undefined || among(named, `${receiver} . ${protocol} . ${port}`, () => false))
  );
}

function holds(range: string, address: string): boolean {
  const ip = parseIp(address)!;
  const cidr = parseCidr(range);
  if (cidr !== undefined) return cidrContains(cidr, ip);
  const [first, last] = range.split('-').map((text) => parseIp(text)!.value);
  return first! <= ip.value && ip.value <= (last ?? first)!;
}

function spans(range: string, port: number): boolean {
  const [first, last] = range.split('-').map(Number);
  return first! <= port && port <= (last ?? first)!;
}

/** The meaning by the API's documentation, one peer and one port at a time. */
function allowed({ from = [], ports = [] }: NetworkPolicyIngressRule, { source, protocol, port }: Packet): boolean {
  const fits = ({ ipBlock, podSelector }: NetworkPolicyPeer): boolean =>
    ipBlock === undefined
      ? pods.some((pod) => pod.address === source && pod.labels['app'] === podSelector?.matchLabels?.['app'])
      : holds(ipBlock.cidr, source) && !(ipBlock.except ?? []).some((cidr) => holds(cidr, source));
  const opens = (wanted: NetworkPolicyPort): boolean => {
    if ((wanted.protocol ?? 'TCP').toLowerCase() !== protocol) return false;
    if (wanted.port === undefined) return true;
    if (typeof wanted.port === 'string')
      return target.ports.some((own) => own.name === wanted.port && own.protocol === protocol && own.port === port);
    return wanted.port <= port && port <= (wanted.endPort ?? wanted.port);
  };
  return (from.length === 0 || from.some(fits)) && (ports.length === 0 || ports.some(opens));
}

/** Makes rules of few addresses, names and ports, so that they often meet. */
function ruleMaker(seed: string) {
  const random = createSeededRandom(seed);
  const below = (n: number): number => Math.floor(random.next() * n);
  const list = <T>(make: () => T): T[] => Array.from({ length: below(4) }, make);
  const block = (): string => `10.0.0.${below(8)}/${29 + below(4)}`;
  const peer = (): NetworkPolicyPeer =>
    below(4) === 0
      ? { podSelector: { matchLabels: { app: ['web', 'db'][below(2)]! } } }
      : { ipBlock: { cidr: block(), except: list(block) } };
  const port = (): NetworkPolicyPort => {
    const protocol = ['TCP', 'UDP', 'SCTP'][below(3)]!;
    const kind = below(6);
    if (kind === 0) return { protocol };
    if (kind === 1) return { protocol, port: ['a', 'b'][below(2)]! };
    const first = 1 + below(8);
    return kind === 2 ? { protocol, port: first } : { protocol, port: first, endPort: first + below(4) };
  };
  return () => Array.from({ length: 1 + below(2) }, () => ({ peers: list(peer), ports: list(port) }));
}

function* packets(): Generator<Packet> {
  for (let last = 0; last < 8; last++)
    for (const protocol of ['tcp', 'udp', 'sctp'])
      for (let port = 1; port < 12; port++) yield { source: `10.0.0.${last}`, protocol, port };
}

const isOpen = (opens: OpenPorts, { protocol, port }: Packet): boolean =>
  opens === 'all' ||
  (opens.get(protocol) ?? []).some(({ first, last }) => first <= BigInt(port) && BigInt(port) <= last);

/** The result of the reachability answer for the pair. */
function reaches(policy: ReadPolicy, direction: Direction, packet: Packet): boolean {
  const peer = { address: packet.source, pod: pods.find(({ address }) => address === packet.source) };
  const { opens } = directionVerdict([policy], { direction, self: target, peer, labelsOf: () => ({}) });
  return isOpen(opens, packet);
}

describe('rules of a policy', () => {
  it('accept the pairs of peer and port, in the kernel and in the answer for a pair', () => {
    const make = ruleMaker('policies');
    for (let round = 0; round < 300; round++) {
      const rules = make().map(({ peers, ports }) => ({ from: peers, ports }));
      const view = read(rules);
      const policy = readForReach(policyOf(rules));
      for (const packet of packets()) {
        const expected = rules.some((rule) => allowed(rule, packet));
        const what = JSON.stringify({ packet, rules, lines: view.ingress?.rules });
        assert.equal(
          view.ingress?.rules.some((line) => takes(line, packet, view)),
          expected,
          what,
        );
        assert.equal(reaches(policy, 'ingress', packet), expected, what);
      }
    }
  });
  it('accept the same egress in the kernel and in the answer for a pair', () => {
    const make = ruleMaker('policies out');
    for (let round = 0; round < 300; round++) {
      const egress = make().map(({ peers, ports }) => ({ to: peers, ports }));
      const policy: NetworkPolicy = {
        metadata: { namespace: 'ns', name: 'p' },
        spec: { podSelector: {}, policyTypes: ['Egress'], egress },
      };
      const view = readPolicy(policy, { family: 4, sha256Hex });
      for (const packet of packets())
        assert.equal(
          reaches(readForReach(policy), 'egress', packet),
          view.egress?.rules.some((line) => takes(line, packet, view, 'egress')),
          JSON.stringify({ packet, egress, lines: view.egress?.rules }),
        );
    }
  });
});

const blocks = (count: number): NetworkPolicyPeer[] =>
  Array.from({ length: count }, (_, i) => ({
    ipBlock: { cidr: `10.${i >> 14}.${(i >> 6) & 255}.${(i & 63) * 4}/31` },
  }));
const numbers = (count: number): NetworkPolicyPort[] => Array.from({ length: count }, (_, i) => ({ port: 2 * i + 1 }));

describe('a policy as large as a request may be', () => {
  it('has as many rules as a small one, and a text that grows with its peers and ports, not with their product', () => {
    const lines = read([{ from: blocks(4_000), ports: numbers(4_000) }]).ingress?.rules ?? [];
    assert.equal(lines.length, 1);
    assert.ok(lines.join('\n').length < 40 * 8_000);
  });
  it('with names of ports: one set for all of them', () => {
    const named = Array.from({ length: 100 }, (_, i) => ({ port: `p${i}` }));
    const { rules = [], sets = [] } = read([{ from: blocks(4_000), ports: named }]).ingress ?? {};
    assert.deepEqual([rules.length, sets.length], [1, 1]);
  });
  for (const [what, rule] of [
    ['9,000 blocks and 9,000 ports', { from: blocks(9_000), ports: numbers(9_000) }],
    [
      '9,000 selectors',
      { from: Array.from({ length: 9_000 }, (_, i) => ({ podSelector: { matchLabels: { a: `${i}` } } })) },
    ],
    [
      '9,000 exceptions twice',
      {
        from: [1, 2].map(() => ({
          ipBlock: { cidr: '10.0.0.0/8', except: blocks(9_000).map((b) => b.ipBlock!.cidr) },
        })),
      },
    ],
    ['9,000 names of ports', { ports: Array.from({ length: 9_000 }, (_, i) => ({ port: `p${i}` })) }],
  ] as const)
    it(`${what}: isolates its pods, accepts nothing, and reports that`, () => {
      const view = read([rule as never]);
      assert.match(view.excess ?? '', /more than/);
      assert.deepEqual(view.ingress?.rules, []);
      assert.deepEqual(view.selection, { namespace: 'ns', podSelector: {} });
    });
  it('9,000 rules without peers are one', () =>
    assert.deepEqual(read(blocks(9_000).map(() => ({}))).ingress?.rules, ['accept']));
  it('a pod selector of 9,000 values isolates the whole namespace', () => {
    const values = Array.from({ length: 9_000 }, (_, i) => `v${i}`);
    const podSelector = { matchExpressions: [{ key: 'app', operator: 'In', values }] };
    const view = readPolicy(
      { metadata: { namespace: 'ns', name: 'p' }, spec: { podSelector, ingress: [{}] } },
      { family: 4, sha256Hex },
    );
    assert.deepEqual([view.selection, view.ingress?.rules], [{ namespace: 'ns', podSelector: {} }, []]);
  });
});
