/**
 * The network policies' rules in the kernel, between pods of one node (whose packets a bridge forwards, neighbour discovery
 * included): each field, in both families. Without a cluster: the test translates policies and applies rules with the proxy's
 * functions.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import type { NetworkPolicySpec } from '../../src/api/gen/networking-v1.ts';
import { allSteps } from '../../src/base/steps.ts';
import { neighbourRules, removeNeighbourRules } from '../../src/cluster/network/neighbour-rules.ts';
import { PolicyBook, type PolicyState } from '../../src/proxy/network-policy/policy-book.ts';
import { readPolicy } from '../../src/proxy/network-policy/policy-rules.ts';
import { policyChangeScript, policyRewriteScript } from '../../src/proxy/network-policy/policy-script.ts';
import { run } from './fixtures/programs.ts';
import { until } from './fixtures/until.ts';
import { createTestNetwork, type TestNetwork } from './service-proxy/network.ts';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const PODS = { web: 2, db: 3, cron: 4 } as const;
type PodName = keyof typeof PODS;
/** The port each pod serves is 8080. A second port is tried where a policy names ports. */
const PORTS = [{ name: 'http', protocol: 'tcp', port: 8080 }];
const PREFIXES = { 4: '10.42.0.', 6: 'fd00:42::' } as const;
const EVERYTHING = { 4: '0.0.0.0/0', 6: '::/0' } as const;
type Family = 4 | 6;

const app = (name: string) => ({ podSelector: { matchLabels: { app: name } } });

/** All addresses but web's, in two adjacent blocks, and thousands of unrelated blocks. */
const manyBlocks = (family: Family) => [
  { ipBlock: { cidr: EVERYTHING[family], except: exceptions(family) } },
  ...Array.from({ length: 4_000 }, (_, i) => ({
    ipBlock: { cidr: family === 4 ? `10.${50 + (i >> 8)}.${i & 255}.8/30` : `fd00:50:${i.toString(16)}::/64` },
  })),
];
const exceptions = (family: Family): string[] => [
  `${PREFIXES[family]}2/${family === 4 ? 32 : 128}`,
  ...Array.from({ length: 1_000 }, (_, i) =>
    family === 4 ? `10.9${i >> 8}.${i & 255}.16/29` : `fd00:90:${i.toString(16)}::/64`,
  ),
];
const manyPorts = [
  { port: 8000, endPort: 8080 },
  ...Array.from({ length: 2_000 }, (_, i) => ({ port: 10_001 + 2 * i, protocol: i % 2 === 0 ? 'TCP' : 'UDP' })),
];

interface Case {
  readonly name: string;
  /** Policies of the namespace of all three pods. */
  policies(family: Family): readonly NetworkPolicySpec[];
  /** `from to`: the permitted connections; all others must fail. */
  readonly open: readonly string[];
}

const everyPair = Object.keys(PODS).flatMap((from) =>
  Object.keys(PODS).flatMap((to) => (from === to ? [] : [`${from} ${to}`])),
);
const but = (...shut: readonly string[]): readonly string[] => everyPair.filter((pair) => !shut.includes(pair));
const toDb = ['web db', 'cron db'];
const fromWeb = ['web db', 'web cron'];

const cases: readonly Case[] = [
  { name: 'default deny of ingress', policies: () => [{ ...app('db') }], open: but(...toDb) },
  {
    name: 'default deny of egress',
    policies: () => [{ ...app('web'), policyTypes: ['Egress'] }],
    open: but(...fromWeb),
  },
  {
    name: 'everybody from everywhere by an empty rule',
    policies: () => [{ ...app('db'), ingress: [{}] }],
    open: everyPair,
  },
  {
    name: 'pods by their labels',
    policies: () => [{ ...app('db'), ingress: [{ from: [app('web')] }] }],
    open: but('cron db'),
  },
  {
    name: 'pods by expressions',
    policies: () => [
      {
        ...app('db'),
        ingress: [
          { from: [{ podSelector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] } }] },
        ],
      },
    ],
    open: but('web db'),
  },
  {
    name: 'namespaces by their labels',
    policies: () => [
      {
        podSelector: {},
        ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 'a' } }, ...app('cron') }] }],
      },
    ],
    open: ['cron web', 'cron db'],
  },
  {
    name: 'no namespace',
    policies: () => [{ podSelector: {}, ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 'b' } } }] }] }],
    open: [],
  },
  {
    name: 'addresses: all',
    policies: (family) => [{ ...app('db'), ingress: [{ from: [{ ipBlock: { cidr: EVERYTHING[family] } }] }] }],
    open: everyPair,
  },
  {
    name: 'addresses: all, except some',
    policies: (family) => [
      {
        ...app('db'),
        ingress: [
          {
            from: [
              {
                ipBlock: {
                  cidr: EVERYTHING[family],
                  except: [
                    `${PREFIXES[family]}2/${family === 4 ? 32 : 128}`,
                    `${PREFIXES[family]}9/${family === 4 ? 32 : 128}`,
                  ],
                },
              },
            ],
          },
        ],
      },
    ],
    open: but('web db'),
  },
  {
    name: 'addresses, of egress, except some',
    policies: (family) => [
      {
        ...app('web'),
        policyTypes: ['Egress'],
        egress: [
          {
            to: [
              {
                ipBlock: {
                  cidr: `${PREFIXES[family]}0/${family === 4 ? 24 : 64}`,
                  except: [`${PREFIXES[family]}3/${family === 4 ? 32 : 128}`],
                },
              },
            ],
          },
        ],
      },
    ],
    open: but('web db'),
  },
  {
    name: 'a port by number',
    policies: () => [{ ...app('db'), ingress: [{ ports: [{ port: 8080, protocol: 'TCP' }] }] }],
    open: everyPair,
  },
  {
    name: 'another port',
    policies: () => [{ ...app('db'), ingress: [{ ports: [{ port: 8081 }] }] }],
    open: but(...toDb),
  },
  {
    name: 'a range of ports that holds it, at its end',
    policies: () => [{ ...app('db'), ingress: [{ ports: [{ port: 8000, endPort: 8080 }] }] }],
    open: everyPair,
  },
  {
    name: 'a range of ports of one',
    policies: () => [{ ...app('db'), ingress: [{ ports: [{ port: 8080, endPort: 8080 }] }] }],
    open: everyPair,
  },
  {
    name: 'a range of ports that ends before',
    policies: () => [{ ...app('db'), ingress: [{ ports: [{ port: 8000, endPort: 8079 }] }] }],
    open: but(...toDb),
  },
  {
    name: 'a port by name, of ingress',
    policies: () => [{ ...app('db'), ingress: [{ from: [app('web')], ports: [{ port: 'http' }] }] }],
    open: but('cron db'),
  },
  {
    name: 'a port by a name the pod does not have',
    policies: () => [{ ...app('db'), ingress: [{ ports: [{ port: 'metrics' }] }] }],
    open: but(...toDb),
  },
  {
    name: 'a port by name, of egress',
    policies: () => [
      { ...app('web'), policyTypes: ['Egress'], egress: [{ to: [app('db')], ports: [{ port: 'http' }] }] },
    ],
    open: but('web cron'),
  },
  {
    name: 'other protocols alone, by number, range and name',
    policies: () => [
      {
        ...app('db'),
        ingress: [
          { ports: [{ protocol: 'UDP' }, { protocol: 'SCTP' }] },
          {
            ports: [
              { protocol: 'SCTP', port: 8080 },
              { protocol: 'UDP', port: 8000, endPort: 9000 },
            ],
          },
          { from: [app('web')], ports: [{ protocol: 'SCTP', port: 'http' }] },
        ],
      },
    ],
    open: but(...toDb),
  },
  {
    name: 'thousands of blocks, exceptions and ranges of ports: those that hold nobody, and then the others',
    policies: (family) => [
      { ...app('db'), ingress: [{ from: manyBlocks(family), ports: manyPorts }] },
      { ...app('cron'), ingress: [{ from: manyBlocks(family).slice(1), ports: manyPorts }] },
      { ...app('web'), ingress: [{ from: manyBlocks(family), ports: manyPorts.slice(1) }] },
    ],
    open: ['cron db'],
  },
  {
    name: 'several policies add up; both sides must agree',
    policies: () => [
      { podSelector: {}, policyTypes: ['Ingress', 'Egress'] },
      { ...app('web'), policyTypes: ['Egress'], egress: [{ to: [app('db'), app('cron')] }] },
      { ...app('db'), ingress: [{ from: [app('web')] }] },
    ],
    open: ['web db'],
  },
];

describe('rules of network policies', () => {
  let network: TestNetwork;
  before(async () => {
    network = createTestNetwork();
    for (const [name, last] of Object.entries(PODS)) await network.addPod(name, `${PREFIXES[4]}${last}`);
  });
  after(() => network?.remove());

  const nft = (input: string): void => {
    const { status, stderr } = spawnSync('ip', ['netns', 'exec', network.ns('node'), 'nft', '-f', '-'], {
      input,
      encoding: 'utf8',
    });
    assert.equal(status, 0, `${stderr}\n${input}`);
  };

  const reaches = async (pair: string, addressOf: (pod: string) => string, limitSeconds = 1): Promise<boolean> => {
    const [from = '', to = ''] = pair.split(' ');
    const script = `exec 3<>/dev/tcp/${addressOf(to)}/8080; cat <&3`;
    // Without --norc bash reads ~/.bashrc when its input is a socket, as with Node.js, which may exceed this time limit.
    const command = [
      'netns',
      'exec',
      network.ns(from),
      'timeout',
      String(limitSeconds),
      'bash',
      '--norc',
      '-c',
      script,
    ];
    return (await run('ip', command)).stdout.startsWith(to);
  };

  for (const family of [4, 6] as const) {
    const table = { family, name: 'kt-policies', podCidr: `${PREFIXES[family]}0/${family === 4 ? 24 : 64}` };
    const addressOf = (name: string): string => `${PREFIXES[family]}${PODS[name as PodName]}`;
    const book = new PolicyBook(() => ({ team: 'a' }), sha256Hex);
    for (const name of Object.keys(PODS))
      allSteps(
        book.setPod(`ns/${name}`, {
          namespace: 'ns',
          labels: { app: name },
          address: addressOf(name),
          here: true,
          ports: PORTS,
        }),
      );
    let programmed: PolicyState | undefined;

    for (const { name, policies, open } of cases)
      it(`${name} (IPv${family})`, async () => {
        const specs = policies(family);
        for (let at = 0; at < 3; at++) {
          const spec = specs[at];
          const policy =
            spec && readPolicy({ metadata: { namespace: 'ns', name: `p${at}` }, spec }, { family, sha256Hex });
          allSteps(book.setPolicy(`ns/p${at}`, policy));
        }
        const state = book.state();
        nft(
          programmed === undefined ? policyRewriteScript(table, state) : policyChangeScript(table, programmed, state),
        );
        programmed = state;
        // Flushes the neighbour tables, so that neighbour discovery passes through the rules.
        for (const pod of Object.keys(PODS)) network.run(pod, 'ip', 'neigh', 'flush', 'dev', 'eth0');
        let reached: readonly string[] = [];
        // A blocked connection waits for the whole limit; on a busy machine permitted ones need a longer limit.
        let limitSeconds = 0.5;
        await until('who reaches whom', async () => {
          limitSeconds = Math.min(2 * limitSeconds, 16);
          const answers = await Promise.all(everyPair.map((pair) => reaches(pair, addressOf, limitSeconds)));
          reached = everyPair.filter((_, at) => answers[at]);
          return reached.join() === open.join();
        }).catch(() => undefined);
        assert.deepEqual(reached, open);
        // A pod always reaches itself and is reached from its node, whatever the policies are.
        await until('itself', () => reaches('db db', addressOf));
        await until('from the node', () => reaches('node db', addressOf));
      });
  }

  // Policies contain the addresses of pod statuses: other addresses of a pod must not be reachable.
  const guarded = { bridge: 'pods', nftTable: 'kt' };
  for (const [about, clusterCidr, stillOpen] of [
    ['without a range of IPv6', '10.42.0.0/16', []],
    ['with one', '10.42.0.0/16,fd00:42::/48', ['IPv6 web', 'IPv6 db', 'IPv6 cron']],
  ] as const)
    it(`pods of a cluster ${about} reach no pod by its link-local address`, async () => {
      nft(`table ip kt-policies\ndelete table ip kt-policies\ntable ip6 kt-policies\ndelete table ip6 kt-policies\n`);
      const linkLocal = (pod: string): string => {
        const shown = network.run(pod, 'ip', '-6', '-oneline', 'addr', 'show', 'dev', 'eth0', 'scope', 'link');
        return `${/fe80[0-9a-f:]+/.exec(shown)?.[0]}%eth0`;
      };
      const addresses = (pod: string): Readonly<Record<string, string>> => ({
        IPv4: `${PREFIXES[4]}${PODS[pod as PodName]}`,
        IPv6: `${PREFIXES[6]}${PODS[pod as PodName]}`,
        'link-local': linkLocal(pod),
      });
      const reachable = async (): Promise<string[]> => {
        const found: string[] = [];
        for (const kind of ['IPv4', 'IPv6', 'link-local'])
          for (const [from, to] of [
            ['db', 'web'],
            ['cron', 'db'],
            ['web', 'cron'],
          ] as const)
            if (await reaches(`${from} ${to}`, (pod) => addresses(pod)[kind] ?? '')) found.push(`${kind} ${to}`);
        return found;
      };
      const all = ['web', 'db', 'cron'];
      nft(removeNeighbourRules(guarded));
      await until('the addresses', async () => (await reachable()).length === 3 * all.length);
      nft(neighbourRules({ ...guarded, clusterCidr }));
      for (const pod of all) network.run(pod, 'ip', 'neigh', 'flush', 'dev', 'eth0');
      assert.deepEqual(await reachable(), [...all.map((pod) => `IPv4 ${pod}`), ...stillOpen]);
      nft(removeNeighbourRules(guarded));
    });
});
