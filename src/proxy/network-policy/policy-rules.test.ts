import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { NetworkPolicySpec } from '../../api/gen/networking-v1.ts';
import { readPolicy, type PolicyView } from './policy-rules.ts';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const read = (spec: NetworkPolicySpec, family: 4 | 6 = 4): PolicyView =>
  readPolicy({ metadata: { namespace: 'ns', name: 'p' }, spec }, { family, sha256Hex });
/** Rules with the content of sets in place of their names. */
const ingress = (rule: NonNullable<NetworkPolicySpec['ingress']>[number], family: 4 | 6 = 4): string[] => {
  const chain = read({ podSelector: {}, ingress: [rule] }, family).ingress;
  return (chain?.rules ?? []).map((line) =>
    line.replace(/@(\S+)/g, (_, name) => {
      const set = chain?.sets.find((s) => s.name === name);
      return `{${set?.selections.map((s) => s.namespace ?? '*').join()}${set?.portIds === undefined ? '' : `:${[...set.portIds].join()}`}}`;
    }),
  );
};

const web = { podSelector: { matchLabels: { app: 'web' } } };

for (const [name, rule, expected] of [
  ['everybody, everything', {}, ['accept']],
  ['pods', { from: [web] }, ['ip saddr {ns} accept']],
  [
    'pods of several namespaces, one set for all',
    { from: [web, { namespaceSelector: {} }] },
    ['ip saddr {ns,*} accept'],
  ],
  ['a protocol', { ports: [{ protocol: 'UDP' }] }, ['meta l4proto udp accept']],
  ['a port; TCP unless said', { ports: [{ port: 80 }] }, ['tcp dport 80 accept']],
  [
    'ranges that overlap',
    { ports: [{ port: 80, endPort: 90 }, { port: 85 }, { port: 53, protocol: 'UDP' }] },
    ['tcp dport 80-90 accept', 'udp dport 53 accept'],
  ],
  [
    'peers of both kinds with a port',
    { from: [web, { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.2.0.0/16'] } }], ports: [{ port: 80 }] },
    ['ip saddr {ns} tcp dport 80 accept', 'ip saddr { 10.0.0.0/16, 10.3.0.0-10.255.255.255 } tcp dport 80 accept'],
  ],
  [
    'SCTP, by number, range and name',
    {
      ports: [
        { port: 80, protocol: 'SCTP' },
        { port: 90, endPort: 99, protocol: 'SCTP' },
        { port: 'sig', protocol: 'SCTP' },
      ],
    },
    ['sctp dport { 80, 90-99 } accept', 'ip daddr . meta l4proto . th dport {ns:sctp sig} accept'],
  ],
  ['a block of the other family: nobody', { from: [{ ipBlock: { cidr: 'fd00::/8' } }] }, []],
  [
    'a named port, of the selected pod',
    { from: [web], ports: [{ port: 'http' }] },
    ['ip saddr {ns} ip daddr . meta l4proto . th dport {ns:tcp http} accept'],
  ],
] as const)
  test(`ingress from ${name}`, () => assert.deepEqual(ingress(structuredClone(rule) as never), expected));

test('an IPv6 block becomes a rule of its family', () => {
  assert.deepEqual(ingress({ from: [{ ipBlock: { cidr: 'fd00::/8' } }] }, 6), ['ip6 saddr fd00::/8 accept']);
});

test('types: as given, else ingress, and egress where there are rules for it', () => {
  const sides = (spec: NetworkPolicySpec) => {
    const policy = read(spec);
    return (['ingress', 'egress'] as const).filter((side) => policy[side] !== undefined);
  };
  assert.deepEqual(sides({ podSelector: {} }), ['ingress']);
  assert.deepEqual(sides({ podSelector: {}, egress: [] }), ['ingress', 'egress']);
  assert.deepEqual(sides({ podSelector: {}, egress: [], policyTypes: ['Egress'] }), ['egress']);
});

test('equal rules have the same chain, others another', () => {
  const name = (port: number) => read({ podSelector: {}, ingress: [{ ports: [{ port }] }] }).ingress?.name;
  assert.equal(name(80), name(80));
  assert.notEqual(name(80), name(81));
});
