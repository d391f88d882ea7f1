/** An event wakes only the pods that it can help: the plugins' hints. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import type { ClusterEvent } from '../queue/cluster-event.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { createInterPodAffinity } from './inter-pod-affinity/inter-pod-affinity.ts';
import { createDynamicResources } from './dynamic-resources/dynamic-resources.ts';
import { createNodeAffinity } from './node-affinity/node-affinity.ts';
import { createNodePorts } from './node-ports/node-ports.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';
import { createNodeUnschedulable } from './node-unschedulable/node-unschedulable.ts';
import { createPodTopologySpread } from './pod-topology-spread/pod-topology-spread.ts';
import { createTaintToleration } from './taint-toleration/taint-toleration.ts';

/** `now`: the new or changed object, `old`: the deleted object or its former state. */
interface Case {
  readonly plugin: SchedulerPlugin;
  readonly event: ClusterEvent;
  readonly pod: Stored<Pod>;
  readonly old?: KubernetesObject;
  readonly now?: KubernetesObject;
}

const fit = createNodeResourcesFit();
const ports = createNodePorts();
const affinity = createInterPodAffinity(() => ({}));
const nodeAffinity = createNodeAffinity();
const taints = createTaintToleration();
const closed = createNodeUnschedulable();
const spread = createPodTopologySpread(() => undefined);

const wants = testPod('p', { cpu: '2', memory: '1Gi' });
const small = testNode('n', { cpu: '1' });
const large = testNode('n', { cpu: '4' });
const withPort = (hostPort: number): Stored<Pod> =>
  testPod('p', { spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1, hostPort }] }] } });
const web = (name: string, app = 'web', spec: Partial<NonNullable<Pod['spec']>> = {}): Stored<Pod> => {
  const pod = testPod(name, { spec });
  return stored({ ...pod, metadata: { ...pod.metadata, labels: { app } } });
};
const term = { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'web' } } };
const rules = (kind: 'podAffinity' | 'podAntiAffinity') => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
});
const several = (kind: 'podAffinity' | 'podAntiAffinity', ...labels: string[]) => ({
  affinity: {
    [kind]: {
      requiredDuringSchedulingIgnoredDuringExecution: labels.map((label) => ({
        topologyKey: 'zone',
        labelSelector: { matchLabels: { [label]: 'yes' } },
      })),
    },
  },
});
const labelled = (labels: readonly string[], spec: Partial<NonNullable<Pod['spec']>> = {}): Stored<Pod> => {
  const pod = testPod(labels.join('-'), { spec });
  return stored({
    ...pod,
    metadata: { ...pod.metadata, labels: Object.fromEntries(labels.map((label) => [label, 'yes'])) },
  });
};
const nearBoth = labelled([], several('podAffinity', 'a', 'b'));
const oneOfBoth = labelled(['a', 'b'], several('podAffinity', 'a', 'b'));
const apartFromBoth = labelled([], several('podAntiAffinity', 'a', 'b'));
const near = web('p', 'x', rules('podAffinity'));
const apart = web('p', 'x', rules('podAntiAffinity'));
const nearAndApart = web('p', 'x', {
  affinity: {
    ...rules('podAffinity').affinity,
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, topologyKey: 'rack' }] },
  },
});
const inZone = (zone: string) => testNode('n', { labels: { zone } });
const onRack = (rack: string) => testNode('n', { labels: { rack } });
const tainted = testNode('n', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } });
const spreads = web('p', 'web', {
  topologySpreadConstraints: [
    { topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: term.labelSelector },
  ],
});
const devices = createDynamicResources(testPluginDeps());
const withClaims = testPod('p', {
  spec: {
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
    resourceClaims: [{ name: 'r', resourceClaimName: 'r' }],
  },
});
const deviceClaim = (name: string, allocated: boolean) => ({
  kind: 'ResourceClaim',
  metadata: { name, namespace: 'default' },
  status: allocated ? { allocation: {} } : {},
});
const elsewhere = { ...web('q'), metadata: { ...web('q').metadata, namespace: 'other' } };

describe('queueing hints of several terms of affinity', () => {
  const update = 'assigned-pod/update';
  const cases: [what: string, of: Omit<Case, 'plugin'>, helps: boolean][] = [
    ['a pod that meets one only', { event: 'assigned-pod/add', pod: nearBoth, now: labelled(['a']) }, false],
    ['a pod that meets all', { event: 'assigned-pod/add', pod: nearBoth, now: labelled(['a', 'b']) }, true],
    [
      'the label for the second',
      { event: update, pod: nearBoth, old: labelled(['a']), now: labelled(['a', 'b']) },
      true,
    ],
    [
      'the second term free',
      { event: update, pod: apartFromBoth, old: labelled(['a', 'b']), now: labelled(['a']) },
      true,
    ],
    ['one repels for another', { event: update, pod: apartFromBoth, old: labelled(['a']), now: labelled(['b']) }, true],
    ['one more repels', { event: update, pod: apartFromBoth, old: labelled(['a']), now: labelled(['a', 'b']) }, false],
    ["the last of the pod's own group gone", { event: 'assigned-pod/delete', pod: oneOfBoth, old: oneOfBoth }, true],
    ['one of half the group gone', { event: 'assigned-pod/delete', pod: oneOfBoth, old: labelled(['a']) }, false],
    ["one of another's group gone", { event: 'assigned-pod/delete', pod: nearBoth, old: oneOfBoth }, false],
    ['the last of the group with other labels', { event: update, pod: oneOfBoth, old: oneOfBoth, now: nearBoth }, true],
    ['the last of the group as before', { event: update, pod: oneOfBoth, old: oneOfBoth, now: oneOfBoth }, false],
  ];
  for (const [what, { event, pod, old, now }, helps] of cases)
    test(`${what}: ${helps ? 'wakes' : 'does not wake'}`, () => {
      const found = affinity.events?.find((each) => each.event === event);
      assert.ok(found?.hint);
      assert.equal(found.hint(pod, old, now), helps);
    });
});

describe('queueing hints', () => {
  const cases: [what: string, of: Case, helps: boolean][] = [
    ['a node that is large enough', { plugin: fit, event: 'node/add', pod: wants, now: large }, true],
    ['a node that is too small', { plugin: fit, event: 'node/add', pod: wants, now: small }, false],
    [
      'a node that has grown',
      { plugin: fit, event: 'node/update-allocatable', pod: wants, old: small, now: large },
      true,
    ],
    [
      'a node that has shrunk',
      { plugin: fit, event: 'node/update-allocatable', pod: wants, old: large, now: small },
      false,
    ],
    [
      'a node that has grown in what is not wanted',
      {
        plugin: fit,
        event: 'node/update-allocatable',
        pod: testPod('p', { cpu: '2' }),
        old: testNode('n', { cpu: '4', memory: '1Gi' }),
        now: testNode('n', { cpu: '4', memory: '9Gi' }),
      },
      false,
    ],
    [
      'a node that takes more pods',
      {
        plugin: fit,
        event: 'node/update-allocatable',
        pod: wants,
        old: testNode('n', { pods: '1' }),
        now: testNode('n'),
      },
      true,
    ],
    [
      'a node that takes a thousand pods',
      {
        plugin: fit,
        event: 'node/update-allocatable',
        pod: wants,
        old: testNode('n', { pods: '999' }),
        now: testNode('n', { pods: '1k' }),
      },
      true,
    ],
    [
      'a pod resized down',
      {
        plugin: fit,
        event: 'assigned-pod/update',
        pod: wants,
        old: testPod('q', { cpu: '3' }),
        now: testPod('q', { cpu: '1' }),
      },
      true,
    ],
    [
      'a pod resized up',
      {
        plugin: fit,
        event: 'assigned-pod/update',
        pod: wants,
        old: testPod('q', { cpu: '1' }),
        now: testPod('q', { cpu: '3' }),
      },
      false,
    ],
    [
      'a pod gone with its port',
      { plugin: ports, event: 'assigned-pod/delete', pod: withPort(80), old: withPort(80) },
      true,
    ],
    [
      'a pod gone with another',
      { plugin: ports, event: 'assigned-pod/delete', pod: withPort(80), old: withPort(81) },
      false,
    ],
    ['a pod that it must be near', { plugin: affinity, event: 'assigned-pod/add', pod: near, now: web('q') }, true],
    ['a pod of no interest', { plugin: affinity, event: 'assigned-pod/add', pod: near, now: web('q', 'db') }, false],
    [
      'a pod that it must not be near has gone',
      { plugin: affinity, event: 'assigned-pod/delete', pod: apart, old: web('q') },
      true,
    ],
    [
      'a pod that wanted to be apart from it has gone',
      { plugin: affinity, event: 'assigned-pod/delete', pod: web('p'), old: web('q', 'y', rules('podAntiAffinity')) },
      true,
    ],
    ['another has gone', { plugin: affinity, event: 'assigned-pod/delete', pod: apart, old: web('q', 'db') }, false],
    [
      'labels that attract now',
      { plugin: affinity, event: 'assigned-pod/update', pod: near, old: web('q', 'db'), now: web('q') },
      true,
    ],
    [
      'labels that repel no more',
      { plugin: affinity, event: 'assigned-pod/update', pod: apart, old: web('q'), now: web('q', 'db') },
      true,
    ],
    [
      'labels as before',
      { plugin: affinity, event: 'assigned-pod/update', pod: near, old: web('q'), now: web('q') },
      false,
    ],
    [
      'a node that leaves the topology of its company',
      { plugin: affinity, event: 'node/update-label', pod: near, old: inZone('a'), now: large },
      true,
    ],
    [
      'a node that takes what it must not be near out of the topology',
      { plugin: affinity, event: 'node/update-label', pod: nearAndApart, old: onRack('a'), now: large },
      true,
    ],
    [
      'a node of no topology of its company whose other labels change',
      {
        plugin: affinity,
        event: 'node/update-label',
        pod: nearAndApart,
        old: large,
        now: testNode('n', { labels: { x: 'y' } }),
      },
      false,
    ],
    [
      'a node of no topology of its company that joins one of those it must not be near',
      { plugin: affinity, event: 'node/update-label', pod: nearAndApart, old: large, now: onRack('a') },
      false,
    ],
    [
      'a node that joins the topology of its company',
      { plugin: affinity, event: 'node/update-label', pod: near, old: large, now: inZone('a') },
      true,
    ],
    [
      'a node with the label',
      {
        plugin: nodeAffinity,
        event: 'node/add',
        pod: testPod('p', { spec: { nodeSelector: { disk: 'fast' } } }),
        now: testNode('n', { labels: { disk: 'fast' } }),
      },
      true,
    ],
    [
      'a node without',
      {
        plugin: nodeAffinity,
        event: 'node/add',
        pod: testPod('p', { spec: { nodeSelector: { disk: 'fast' } } }),
        now: large,
      },
      false,
    ],
    [
      'a node that gets the label',
      {
        plugin: nodeAffinity,
        event: 'node/update-label',
        pod: testPod('p', { spec: { nodeSelector: { disk: 'fast' } } }),
        old: large,
        now: testNode('n', { labels: { disk: 'fast' } }),
      },
      true,
    ],
    [
      'another label of a node that has it',
      {
        plugin: nodeAffinity,
        event: 'node/update-label',
        pod: testPod('p', { spec: { nodeSelector: { disk: 'fast' } } }),
        old: testNode('n', { labels: { disk: 'fast' } }),
        now: testNode('n', { labels: { disk: 'fast', x: 'y' } }),
      },
      false,
    ],
    ['a node with a taint', { plugin: taints, event: 'node/add', pod: wants, now: tainted }, false],
    [
      'a node that lost its taint',
      { plugin: taints, event: 'node/update-taint', pod: wants, old: tainted, now: large },
      true,
    ],
    [
      'a node that is closed',
      { plugin: closed, event: 'node/add', pod: wants, now: testNode('n', { spec: { unschedulable: true } }) },
      false,
    ],
    ['a node that is open', { plugin: closed, event: 'node/update-taint', pod: wants, old: small, now: large }, true],
    [
      'its own device claim',
      { plugin: devices, event: 'resource-claim/add', pod: withClaims, now: deviceClaim('r', false) },
      true,
    ],
    [
      'devices given back',
      {
        plugin: devices,
        event: 'resource-claim/update',
        pod: withClaims,
        old: deviceClaim('s', true),
        now: deviceClaim('s', false),
      },
      true,
    ],
    [
      'a claim with devices gone',
      { plugin: devices, event: 'resource-claim/delete', pod: withClaims, old: deviceClaim('s', true) },
      true,
    ],
    [
      'devices given to another',
      {
        plugin: devices,
        event: 'resource-claim/update',
        pod: withClaims,
        old: deviceClaim('s', false),
        now: deviceClaim('s', true),
      },
      false,
    ],
    ['a pod of its namespace', { plugin: spread, event: 'assigned-pod/add', pod: spreads, now: web('q') }, true],
    ['a pod of another namespace', { plugin: spread, event: 'assigned-pod/add', pod: spreads, now: elsewhere }, false],
    ...(
      [
        ['a node that joins a domain', large, inZone('a'), true],
        ['a node that leaves one', inZone('a'), large, true],
        ['a node that goes to another', inZone('a'), inZone('b'), true],
        ['another label', inZone('a'), testNode('n', { labels: { zone: 'a', x: 'y' } }), false],
        ['another label of a node of no domain', large, onRack('a'), false],
      ] as const
    ).map(([what, old, now, helps]): (typeof cases)[number] => [
      what,
      { plugin: spread, event: 'node/update-label', pod: spreads, old, now },
      helps,
    ]),
    [
      'a node that is counted now',
      {
        plugin: spread,
        event: 'node/update-label',
        pod: web('p', 'web', { ...spreads.spec, nodeSelector: { disk: 'fast' } }),
        old: inZone('a'),
        now: testNode('n', { labels: { zone: 'a', disk: 'fast' } }),
      },
      true,
    ],
  ];
  for (const [what, { plugin, event, pod, old, now }, helps] of cases)
    test(`${plugin.name}: ${what} ${helps ? 'helps' : 'does not help'}`, () => {
      const entry = plugin.events?.find((each) => each.event === event);
      assert.ok(entry?.hint !== undefined, `${plugin.name} has no hint for ${event}`);
      assert.equal(entry.hint(pod, old, now), helps);
    });
});
