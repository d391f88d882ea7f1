import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Leases } from '../../api/gen/resources.ts';
import { formatMicroTime } from '../../api/time.ts';
import { createTestObjects } from '../../apiserver/authz/objects-fixture.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createComponentHealth } from './component-health.ts';

test('a component is healthy that runs here, or whose lease is held; the store when it answers', async () => {
  const clock = new VirtualClock();
  const objects = createTestObjects();
  const problems: Error[] = [];
  const status = async (): Promise<never> => {
    for (const problem of problems) throw problem;
    return {} as never;
  };
  const health = createComponentHealth({ objects: objects.store, clock, store: { status } });
  const read = async (): Promise<string> =>
    (await health.read()).map(({ name, healthy }) => `${name}=${healthy}`).join(' ');
  assert.equal(await read(), 'controller-manager=false scheduler=false etcd-0=true');
  const ended = health.runs('scheduler');
  objects.put(Leases, {
    metadata: { name: 'kube-controller-manager', namespace: 'kube-system' },
    spec: { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: formatMicroTime(clock.nowMs()) },
  });
  assert.equal(await read(), 'controller-manager=true scheduler=true etcd-0=true');
  await clock.advance(15_001);
  ended();
  problems.push(new Error('etcd is away'));
  assert.equal(await read(), 'controller-manager=false scheduler=false etcd-0=false');
  assert.equal((await health.read())[2]?.message, 'etcd is away');
});
