/** Two API servers with one etcd, as clients see them: each responds with what the other has acknowledged. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Service } from '../../src/api/gen/core-v1.ts';
import { ConfigMaps, Endpoints, EndpointSlices, IPAddresses, Leases, Services } from '../../src/api/gen/resources.ts';
import { isReason } from '../../src/api/status-error.ts';
import { type EtcdServer, startEtcd, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdStore } from '../../src/storage/etcd/etcd-store.ts';
import { until } from '../integration/fixtures/until.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';

const NAMESPACE = 'default';

describe('two API servers over one etcd', { skip: withoutEtcd }, () => {
  let etcd: EtcdServer;
  let a: ControlPlaneFixture;
  let b: ControlPlaneFixture;
  before(async () => {
    etcd = await startEtcd();
    const store = (platform: Parameters<typeof createEtcdStore>[0]['platform']) =>
      createEtcdStore({ endpoints: [etcd.url], platform });
    a = await startControlPlane({ store, hostAddress: '127.0.0.1' });
    b = await startControlPlane({
      store,
      hostAddress: '127.0.0.2',
      pkiDir: join(a.directory, 'pki'),
      components: false,
    });
  });
  let bRuns = true;
  after(async () => {
    if (bRuns) await b?.stop();
    await a?.stop();
    await etcd?.stop();
  });

  test('a write acknowledged by one is visible at the other at once, in reads and as the base of writes', async () => {
    const [here, there] = [a.admin.resource(ConfigMaps), b.admin.resource(ConfigMaps)];
    for (let round = 0; round < 30; round++) {
      const name = `c${round}`;
      await here.create({ metadata: { name, namespace: NAMESPACE }, data: { round: '0' } });
      const read = await there.get({ namespace: NAMESPACE, name });
      assert.equal(read.data?.['round'], '0');
      const list = await there.list({ namespace: NAMESPACE });
      assert.ok(list.items.some((item) => item.metadata.name === name));
      const updated = await there.update({ ...read, data: { round: '1' } });
      await here.update({ ...updated, data: { round: '2' } });
      await assert.rejects(there.update({ ...updated, data: { round: 'lost' } }), (error) =>
        isReason(error, 'Conflict'),
      );
      await there.delete({ namespace: NAMESPACE, name });
      await assert.rejects(here.get({ namespace: NAMESPACE, name }), (error) => isReason(error, 'NotFound'));
      await assert.rejects(here.delete({ namespace: NAMESPACE, name }), (error) => isReason(error, 'NotFound'));
      await there.create({ metadata: { name, namespace: NAMESPACE }, data: {} });
      await assert.rejects(here.create({ metadata: { name, namespace: NAMESPACE } }), (error) =>
        isReason(error, 'AlreadyExists'),
      );
    }
  });

  test('services created at both at once get distinct addresses and ports', async () => {
    const make = (plane: ControlPlaneFixture, name: string, spec: Service['spec']) =>
      plane.admin
        .resource(Services)
        .create({ metadata: { name, namespace: NAMESPACE }, spec: { ports: [{ port: 80 }], ...spec } });
    const made = await Promise.all(
      Array.from({ length: 60 }, (_, at) => make(at % 2 ? a : b, `s${at}`, { type: 'NodePort' })),
    );
    assert.equal(new Set(made.map(({ spec }) => spec?.clusterIP)).size, 60);
    assert.equal(new Set(made.map(({ spec }) => spec?.ports?.[0]?.nodePort)).size, 60);
    const wanted = { clusterIP: '10.223.0.9' };
    const both = await Promise.allSettled([make(a, 'x', wanted), make(b, 'y', wanted)]);
    const [refused] = both.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    assert.equal(both.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.match(
      String((refused!.reason as Error).message),
      /failed to allocate IP 10.223.0.9: provided IP is already allocated/,
    );
    const taken = (await b.admin.resource(Services).list()).items.find(({ spec }) => spec?.clusterIP === '10.223.0.9');
    const claim = await b.admin.resource(IPAddresses).get({ namespace: '', name: '10.223.0.9' });
    assert.equal(claim.spec.parentRef.name, taken?.metadata.name);
    const watch = await a.kubectl(['delete', 'service', taken!.metadata.name!]);
    assert.equal(watch.code, 0, watch.stderr);
    const gone = await a.kubectl(['wait', '--for=delete', 'ipaddress/10.223.0.9', '--timeout=120s']);
    assert.equal(gone.code, 0, gone.stderr);
    assert.ok((await make(b, 'z', wanted)).metadata.uid);
  });

  test('both are endpoints of the kubernetes service and have identities; one that leaves is removed', async () => {
    const wanted = ['127.0.0.1', '127.0.0.2'];
    const key = { namespace: NAMESPACE, name: 'kubernetes' };
    await until('both are endpoints and have identities', async () => {
      const found = await a.admin.resource(Endpoints).get(key);
      assert.deepEqual(
        found.subsets?.flatMap(({ addresses }) => addresses?.map(({ ip }) => ip)),
        wanted,
      );
      const slice = await a.admin.resource(EndpointSlices).get(key);
      assert.deepEqual(
        slice.endpoints?.flatMap(({ addresses }) => addresses),
        wanted,
      );
      const leases = await b.admin.resource(Leases).list({
        namespace: 'kube-system',
        labelSelector: 'apiserver.kubernetes.io/identity=kube-apiserver',
      });
      return leases.items.length === 2;
    });
    bRuns = false;
    await b.stop();
    const ips = (): string[] | undefined =>
      a.controlPlane.server.objects
        .get(EndpointSlices, NAMESPACE, 'kubernetes')
        ?.endpoints?.flatMap(({ addresses }) => addresses);
    await until('its address is taken off', async () => ips()?.join() === '127.0.0.1');
  });
});
