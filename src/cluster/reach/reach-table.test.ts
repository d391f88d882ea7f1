/** The table of workloads equals the results of all pairs of their pods. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { allSteps } from '../../base/steps.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { NetworkPolicy } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { readForReach } from '../../proxy/network-policy/policy-reach.ts';
import { endpointOf, reachBetween, type ReachContext } from './reach.ts';
import { mentionsOf, ReachTableMaker } from './reach-table.ts';

interface PodSpec {
  readonly set: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: number;
  readonly port: string;
}

const podOf = ({ set, labels, address, port }: PodSpec, at: number): Stored<Pod> => ({
  metadata: {
    namespace: `ns${set % 2}`,
    name: `p${at}`,
    uid: `u${at}`,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { ...labels, 'pod-template-hash': 'abc' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `s${set}-abc`, uid: `s${set}`, controller: true },
    ],
  },
  spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i', ports: [{ name: port, containerPort: 80 + at }] }] },
  status: { phase: 'Running', podIP: `10.0.0.${address}` },
});

const letter = fc.constantFrom('a', 'b');
const selector = fc
  .option(letter, { nil: undefined })
  .map((app) => (app === undefined ? {} : { matchLabels: { app } }));
const peer = fc.oneof(
  selector.map((podSelector) => ({ podSelector })),
  fc.record({ namespaceSelector: selector, podSelector: selector }),
  fc.nat(7).map((last) => ({ ipBlock: { cidr: `10.0.0.${last}/30`, except: [`10.0.0.${last}/32`] } })),
);
const port = fc.oneof(
  fc.constant({ port: 'web' }),
  fc.constant({ port: 81, endPort: 83 }),
  fc.constant({ protocol: 'UDP' }),
);
const rules = fc.array(fc.record({ from: fc.array(peer, { maxLength: 2 }), ports: fc.array(port, { maxLength: 2 }) }), {
  maxLength: 2,
});
const policy = fc.record({ namespace: fc.nat(1), podSelector: selector, rules, out: fc.boolean() });
const pod = fc.record({
  set: fc.nat(3),
  labels: fc.record({ app: letter, noise: letter }),
  address: fc.nat(7),
  port: fc.constantFrom('web', 'other'),
});

const policyOf = (
  {
    namespace,
    podSelector,
    rules: list,
    out,
  }: { namespace: number; podSelector: object; rules: { from: object[]; ports: object[] }[]; out: boolean },
  at: number,
): NetworkPolicy => ({
  metadata: { namespace: `ns${namespace}`, name: `np${at}` },
  spec: out
    ? { podSelector, policyTypes: ['Egress'], egress: list.map(({ from, ports }) => ({ to: from, ports })) }
    : { podSelector, policyTypes: ['Ingress'], ingress: list },
});

describe('the table of reachable workloads', () => {
  test('has for each pair of workloads the result of all pairs of their pods', () => {
    fc.assert(
      fc.property(fc.array(pod, { maxLength: 8 }), fc.array(policy, { maxLength: 4 }), (specs, policySpecs) => {
        const pods = specs.map(podOf);
        const policies = policySpecs.map((spec, at) => readForReach(policyOf(spec, at)));
        const world: ReachContext = {
          policiesOf: (namespace) => policies.filter((one) => one.namespace === namespace),
          labelsOf: (namespace) => ({ app: namespace === 'ns0' ? 'a' : 'b' }),
        };
        const maker = new ReachTableMaker(pods, world, mentionsOf(world, ['ns0', 'ns1']));
        const { groups } = maker;
        for (const [from, sender] of groups.entries()) {
          const row = allSteps(maker.rowSteps(from, groups.length));
          for (const [to, receiver] of groups.entries()) {
            const answers = new Set(
              pods.flatMap((one) =>
                pods.flatMap((other) => {
                  const isOf = (at: Stored<Pod>, group: (typeof groups)[number]): boolean =>
                    at.metadata.ownerReferences?.[0]?.name === `${group.name}-abc`;
                  if (one === other || !isOf(one, sender) || !isOf(other, receiver)) return [];
                  const { verdict, ports } = reachBetween(endpointOf(one), endpointOf(other), world);
                  return [JSON.stringify({ verdict, ports })];
                }),
              ),
            );
            const { verdict = 'Open', ports = [] } = row.find((cell) => cell.to === to) ?? {};
            const expected = answers.size > 1 ? '{"verdict":"Mixed","ports":[]}' : [...answers][0];
            assert.equal(JSON.stringify({ verdict, ports }), expected ?? '{"verdict":"Open","ports":[]}');
          }
        }
      }),
      { seed: 19, numRuns: 300 },
    );
  });

  test('of thousands of pods that policies distinguish is bounded, and computed in steps', () => {
    const pods = Array.from({ length: 2000 }, (_, at) => {
      const labels = { app: `a${at}` };
      return {
        metadata: {
          name: `p${at}`,
          namespace: 'ns0',
          uid: `u${at}`,
          labels,
          ownerReferences: [owner(at < 100 ? 'few' : 'many')],
        },
        spec: { containers: [] },
        status: { podIPs: [{ ip: `10.1.${at >> 8}.${at & 255}` }], podIP: `10.1.${at >> 8}.${at & 255}` },
      } as unknown as Stored<Pod>;
    });
    const closed = readForReach({
      metadata: { name: 'closed', namespace: 'ns0' },
      spec: { podSelector: { matchLabels: { app: 'a1999' } }, policyTypes: ['Ingress'] },
    } as never);
    const world: ReachContext = { policiesOf: () => [closed], labelsOf: () => ({}) };
    const maker = new ReachTableMaker(pods, world, mentionsOf(world, ['ns0']));
    let steps = 0;
    const rows = [0, 1].flatMap((from) => {
      const made = maker.rowSteps(from, 2);
      for (;;) {
        const { done, value } = made.next();
        if (done === true) return value.map(({ to, verdict }) => `${from} ${to} ${verdict}`);
        steps++;
      }
    });
    assert.deepEqual(rows, ['0 1 NotCompared', '1 0 NotCompared', '1 1 NotCompared']);
    assert.ok(steps >= 600, `${steps} steps`);
  });
});

function owner(name: string): object {
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', name, uid: name, controller: true };
}
