/** Which pods go for a critical one; then the whole core, on virtual time. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { createKubeletFixture, type KubeletFixture } from '../fixtures/kubelet-fixture.ts';
import { choosePods } from './preemption.ts';

const CRITICAL = 2_000_000_000;

function asking(requests: Record<string, string>, limits?: Record<string, string>): Pick<PodSpec, 'containers'> {
  return { containers: [{ name: 'app', image: 'image', resources: { requests, ...(limits && { limits }) } }] };
}

const pods: Readonly<Record<string, Pod>> = Object.fromEntries(
  (
    [
      ['none', {}],
      ['none-too', {}],
      ['small', { cpu: '100m', memory: '100Mi' }],
      ['medium', { cpu: '300m', memory: '300Mi' }],
      ['large', { cpu: '900m', memory: '900Mi' }],
      ['sure', { cpu: '300m', memory: '300Mi' }, 'guaranteed'],
      ['surest', { cpu: '900m', memory: '900Mi' }, 'guaranteed'],
    ] as [string, Record<string, string>, string?][]
  ).map(([name, requests, qos]) => [
    name,
    { metadata: { name, uid: name }, spec: asking(requests, qos === undefined ? undefined : requests) },
  ]),
);

describe('pods that go for a critical one', () => {
  const MI = 2 ** 20;
  const cases: [string, string[], Record<string, number>, string[] | undefined][] = [
    ['the one that is enough, not the largest', ['small', 'medium', 'large'], { cpu: 300 }, ['medium']],
    ['the one that comes nearest first', ['small', 'medium', 'large'], { cpu: 1_100 }, ['large', 'medium']],
    ['burstable before guaranteed', ['sure', 'medium'], { cpu: 200 }, ['medium']],
    [
      'a guaranteed one only for what the others cannot free',
      ['sure', 'surest', 'medium'],
      { cpu: 500 },
      ['medium', 'sure'],
    ],
    ['none of the burstable ones where guaranteed ones suffice anyway', ['small', 'surest'], { cpu: 800 }, ['surest']],
    ['best-effort ones for room alone', ['none', 'medium', 'sure'], { pods: 1 }, ['none']],
    ['as many as must be', ['none', 'none-too', 'small'], { pods: 2 }, ['none-too', 'none']],
    ['each resource counts alike', ['small', 'medium'], { cpu: 250, memory: 250 * MI }, ['medium']],
    ['nobody when all together are too few', ['small', 'medium'], { cpu: 401 }, undefined],
    ['nobody when they lack what is needed', ['large'], { 'example.com/gpu': 1 }, undefined],
  ];
  for (const [what, names, needs, expected] of cases)
    it(what, () => {
      const chosen = choosePods(
        names.map((name) => pods[name]!),
        new Map(Object.entries(needs)),
      );
      assert.deepEqual(
        chosen?.map(({ metadata }) => metadata.name),
        expected,
      );
    });
});

describe('a critical pod on a node that is full', () => {
  const running: KubeletFixture[] = [];
  afterEach(async () => {
    for (const fixture of running.splice(0)) await fixture.stop();
  });

  /** A node with one processor and a pod that holds half of it. */
  async function full(spec: Partial<PodSpec> = {}): Promise<KubeletFixture> {
    const fixture = createKubeletFixture();
    running.push(fixture);
    await fixture.start();
    const node = fixture.cluster.get(Nodes, { name: 'node-1' })!;
    const cpus = Number(node.status?.allocatable?.['cpu']);
    fixture.runtime.scripts.set('app', { stopMs: 700 });
    fixture.addPod('holder', { qosClass: 'Burstable', spec: { ...asking({ cpu: `${cpus * 1000 - 100}m` }), ...spec } });
    await fixture.platform.clock.runUntil(() => fixture.summary('holder') === 'Running true', 10_000);
    return fixture;
  }

  const half = asking({ cpu: '500m' });

  it('replaces a less critical pod once that has ended, whose status has the reason', async () => {
    const fixture = await full();
    const { clock } = fixture.platform;
    const sinceMs = clock.monotonicMs();
    fixture.addPod('critical', { qosClass: 'Burstable', spec: { ...half, priority: CRITICAL } });
    await clock.runUntil(() => fixture.summary('critical') === 'Running true', 60_000);
    assert.ok(clock.monotonicMs() - sinceMs >= 700, 'not before the other has gone');
    const { phase, reason, message, conditions } = fixture.pod('holder')?.status ?? {};
    assert.deepEqual([phase, reason, message], ['Failed', 'Preempting', 'Preempted in order to admit critical pod']);
    const disruption = conditions?.find(({ type }) => type === 'DisruptionTarget');
    assert.deepEqual(
      [disruption?.status, disruption?.reason, disruption?.message],
      ['True', 'TerminationByKubelet', 'Pod was preempted by Kubelet to accommodate a critical pod.'],
    );
    assert.ok(fixture.events.includes('Warning Preempting holder: Preempted in order to admit critical pod'));
    assert.deepEqual(fixture.runtime.running(), ['critical/app']);
  });

  const refused: [string, Partial<PodSpec>, Partial<PodSpec>, string][] = [
    ['an ordinary one is refused', {}, { ...half, priority: 1_000_000 }, 'OutOfcpu'],
    [
      'no critical pod goes for another',
      { priority: CRITICAL },
      { ...half, priority: CRITICAL },
      'UnexpectedAdmissionError',
    ],
    [
      'nobody goes where something else is against it',
      {},
      { ...half, priority: CRITICAL, nodeSelector: { disk: 'ssd' } },
      'NodeAffinity',
    ],
  ];
  for (const [what, holder, spec, reason] of refused)
    it(what, async () => {
      const fixture = await full(holder);
      const { clock } = fixture.platform;
      fixture.addPod('late', { qosClass: 'Burstable', spec });
      await clock.runUntil(() => fixture.pod('late')?.status?.phase === 'Failed', 60_000);
      assert.equal(fixture.pod('late')?.status?.reason, reason);
      await clock.advance(60_000);
      assert.deepEqual(fixture.runtime.running(), ['holder/app']);
    });

  it('replaces a pod that does not end when its time is over', async () => {
    const fixture = await full({ terminationGracePeriodSeconds: 10 });
    const { clock } = fixture.platform;
    fixture.runtime.failures.set('killPod', new Error('no answer'));
    const sinceMs = clock.monotonicMs();
    fixture.addPod('critical', { qosClass: 'Burstable', spec: { ...half, priority: CRITICAL } });
    await clock.runUntil(() => fixture.summary('critical') === 'Running true', 120_000);
    assert.equal(Math.floor((clock.monotonicMs() - sinceMs) / 1000), 15);
  });
});
