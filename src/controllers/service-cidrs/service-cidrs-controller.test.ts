import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ServiceCIDR } from '../../api/gen/networking-v1.ts';
import { ServiceCIDRs, Services } from '../../api/gen/resources.ts';
import { startServerHarness, type ServerHarness } from '../server-harness-fixture.ts';
import { createServiceCidrsController } from './service-cidrs-controller.ts';

const start = (): Promise<ServerHarness> =>
  startServerHarness([createServiceCidrsController], { serviceCidrs: ['10.43.0.0/16'] });

function told({ metadata, status }: ServiceCIDR): readonly unknown[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return [ready?.status, ready?.reason, metadata.finalizers ?? []];
}

it("the cluster's range is ready and held", async () => {
  const h = await start();
  await h.create(ServiceCIDRs, { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.43.0.0/16'] } });
  await h.run(500);
  const held = ['networking.k8s.io/service-cidr-finalizer'];
  assert.deepEqual(told(await h.get(ServiceCIDRs, 'kubernetes')), ['True', 'Ready', held]);
  await h.stop();
});

it('another range is reported as unused, and deleted at once', async () => {
  const h = await start();
  await h.create(ServiceCIDRs, { metadata: { name: 'more' }, spec: { cidrs: ['10.77.0.0/16'] } });
  await h.run(500);
  assert.deepEqual(told(await h.get(ServiceCIDRs, 'more')), ['False', 'NotSupported', []]);
  await h.remove(ServiceCIDRs, 'more');
  assert.deepEqual(await h.list(ServiceCIDRs), []);
  await h.stop();
});

it('a range with services stays until they are gone', async () => {
  const h = await start();
  await h.create(ServiceCIDRs, { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.43.0.0/16'] } });
  await h.run(500);
  await h.remove(ServiceCIDRs, 'kubernetes');
  await h.run(500);
  assert.deepEqual(told(await h.get(ServiceCIDRs, 'kubernetes')).slice(0, 2), ['False', 'Terminating']);
  for (const { metadata } of await h.list(Services)) await h.remove(Services, `${metadata.namespace}/${metadata.name}`);
  await h.run(500);
  assert.deepEqual(await h.list(ServiceCIDRs), []);
  await h.stop();
});
