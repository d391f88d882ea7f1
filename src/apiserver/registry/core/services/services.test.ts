/** Services and their addresses and ports: allocated, kept and released. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../../../api/gen/core-v1.ts';
import { Services } from '../../../../api/gen/resources.ts';
import { context, setUp } from '../../definitions-fixture.ts';

test('services get addresses and ports that are theirs alone', async () => {
  const { objects, find } = setUp();
  const { strategy } = find(Services);
  const create = async (spec: Service['spec']) => {
    const service: Service = { metadata: { name: 's', namespace: 'd' }, spec: { ports: [{ port: 80 }], ...spec } };
    strategy.applyDefaults!(service);
    strategy.prepareForCreate!(service, context);
    assert.deepEqual(strategy.validate(service, context), []);
    const allocation = await strategy.allocate!(service, undefined, false);
    return { service, allocation: allocation! };
  };
  const chosen = await create({ clusterIP: '10.96.0.10' });
  assert.deepEqual(chosen.service.spec!.clusterIPs, ['10.96.0.10']);
  assert.equal(chosen.service.spec!.ipFamilyPolicy, 'SingleStack');
  await assert.rejects(create({ clusterIP: '10.96.0.10' }), {
    message:
      'Service "s" is invalid: spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
  });
  chosen.allocation.rollback();
  await create({ clusterIP: '10.96.0.10' });
  await assert.rejects(
    create({ clusterIP: '10.97.0.1' }),
    /is not in the valid range\. The range of valid IPs is 10\.96\.0\.0\/24/,
  );
  const dynamic = await create({ type: 'NodePort' });
  assert.ok(Number(dynamic.service.spec!.clusterIP!.split('.')[3]) > 16, 'from the upper band');
  const port = dynamic.service.spec!.ports![0]!.nodePort!;
  await assert.rejects(
    create({ type: 'NodePort', ports: [{ port: 80, nodePort: port }] }),
    /provided port is already allocated/,
  );
  const seen = new Set<string>();
  for (let count = 0; count < 252; count++) seen.add((await create({})).service.spec!.clusterIP!);
  assert.equal(seen.size, 252, 'every free address once');
  await assert.rejects(create({}), /failed to allocate a serviceIP: range is full/);
  objects.put(Services, dynamic.service);
  await objects.delete(Services, { namespace: 'd', name: 's' }, {}, context);
  assert.equal((await create({})).service.spec!.clusterIP, dynamic.service.spec!.clusterIP);
  const headless = await create({ clusterIP: 'None', selector: { a: 'b' } });
  assert.deepEqual(headless.service.spec!.clusterIPs, ['None']);
});

test('no service gets the address of cluster DNS, whether chosen or not; without DNS of ours one may', async () => {
  const ranges = ['10.96.0.0/27', 'fd00::/112'];
  const allocate = async (dnsAddress: string | undefined, spec: Service['spec']): Promise<readonly string[]> => {
    const { strategy } = setUp({}, ranges, dnsAddress === undefined ? {} : { dnsAddress }).find(Services);
    const service: Service = { metadata: { name: 's', namespace: 'd' }, spec: { ports: [{ port: 53 }], ...spec } };
    strategy.applyDefaults!(service);
    strategy.prepareForCreate!(service, context);
    await strategy.allocate!(service, undefined, false);
    return service.spec!.clusterIPs!;
  };
  const refused = /failed to allocate IP \S+: provided IP is reserved for cluster DNS/;
  for (const address of ['10.96.0.10', 'fd00::a']) {
    await assert.rejects(allocate(address, { clusterIP: address }), refused);
    assert.deepEqual(await allocate(undefined, { clusterIP: address }), [address]);
  }
  await assert.rejects(allocate('fd00::a', { clusterIPs: ['10.96.0.9', 'fd00:0::a'] }), refused);
});

test('a service range without a free address but that of cluster DNS is full', async () => {
  const { strategy } = setUp({}, ['10.96.0.0/28'], { dnsAddress: '10.96.0.10' }).find(Services);
  const given = new Set<string>();
  const create = async (): Promise<void> => {
    const service: Service = { metadata: { name: 's', namespace: 'd' }, spec: { ports: [{ port: 80 }] } };
    strategy.applyDefaults!(service);
    strategy.prepareForCreate!(service, context);
    await strategy.allocate!(service, undefined, false);
    given.add(service.spec!.clusterIP!);
  };
  for (let count = 0; count < 13; count++) await create();
  assert.deepEqual([given.size, given.has('10.96.0.10')], [13, false]);
  await assert.rejects(create(), /range is full/);
});

test('names may begin with a digit', () => {
  const { validateName } = setUp().find(Services).strategy;
  const names = ['1st', '123', 'first', 'First', '-first', 'a.b', 'a'.repeat(63), 'a'.repeat(64)];
  const wrong = names.filter((name) => validateName!(name, false).length > 0);
  assert.deepEqual(wrong, ['First', '-first', 'a.b', 'a'.repeat(64)]);
});

test('a dual-stack service gets a cluster IP of each family', async () => {
  const { find } = setUp({}, ['10.96.0.0/24', 'fd00::/112']);
  const { strategy } = find(Services);
  const service: Service = {
    metadata: { name: 's', namespace: 'd' },
    spec: { ports: [{ port: 80 }], ipFamilyPolicy: 'PreferDualStack' },
  };
  strategy.applyDefaults!(service);
  strategy.prepareForCreate!(service, context);
  await strategy.allocate!(service, undefined, false);
  assert.deepEqual(service.spec!.ipFamilies, ['IPv4', 'IPv6']);
  assert.match(service.spec!.clusterIPs![1]!, /^fd00::/);
  assert.throws(() => {
    const single: Service = { metadata: { name: 's' }, spec: { ipFamilyPolicy: 'RequireDualStack' } };
    setUp().find(Services).strategy.prepareForCreate!(single, context);
  }, /this cluster is not configured for dual-stack services/);
});

test('a change of type releases ports and addresses', async () => {
  const { find, objects } = setUp();
  const { strategy } = find(Services);
  const old: Service = {
    metadata: { name: 's', namespace: 'd' },
    spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30001 }], clusterIP: '10.96.0.9' },
  };
  strategy.applyDefaults!(old);
  strategy.prepareForCreate!(old, context);
  (await strategy.allocate!(old, undefined, false))!.commit();
  objects.put(Services, old);
  const draft = structuredClone(old);
  draft.spec!.type = 'ClusterIP';
  strategy.applyDefaults!(draft);
  strategy.prepareForUpdate!(draft, old, context);
  assert.equal(draft.spec!.ports![0]!.nodePort, undefined);
  assert.equal(draft.spec!.externalTrafficPolicy, undefined);
  assert.equal(draft.spec!.clusterIP, '10.96.0.9');
  assert.deepEqual(strategy.validateUpdate(draft, old, context), []);
  await strategy.allocate!(draft, old, false);
  objects.put(Services, draft);
  const next: Service = {
    metadata: { name: 't', namespace: 'd' },
    spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30001 }] },
  };
  strategy.applyDefaults!(next);
  strategy.prepareForCreate!(next, context);
  await strategy.allocate!(next, undefined, false);
});

test('an update without allocated values keeps them', () => {
  const { find } = setUp();
  const { strategy } = find(Services);
  const spec = {
    type: 'NodePort',
    clusterIP: '10.96.0.9',
    clusterIPs: ['10.96.0.9'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ports: [{ port: 80, protocol: 'TCP', nodePort: 30001 }],
  };
  const old: Service = { metadata: { name: 's' }, spec };
  const draft: Service = { metadata: { name: 's' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } };
  strategy.applyDefaults!(draft);
  strategy.prepareForUpdate!(draft, old, context);
  assert.equal(draft.spec!.clusterIP, '10.96.0.9');
  assert.deepEqual(draft.spec!.clusterIPs, ['10.96.0.9']);
  assert.equal(draft.spec!.ports![0]!.nodePort, 30001);
});

test('an update that names one address, or none, keeps the list, of a service without addresses too', () => {
  const { find } = setUp();
  const { strategy } = find(Services);
  for (const clusterIP of ['None', '10.96.0.9']) {
    const held = { clusterIP, clusterIPs: [clusterIP], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
    const ports = [{ port: 80, protocol: 'TCP', targetPort: 80 }];
    const old: Service = { metadata: { name: 's', resourceVersion: '1' }, spec: { type: 'ClusterIP', ports, ...held } };
    for (const named of [{ clusterIP }, {}]) {
      const draft: Service = {
        metadata: { name: 's', resourceVersion: '1' },
        spec: { ports: [{ port: 80 }], ...named },
      };
      strategy.applyDefaults!(draft);
      strategy.prepareForUpdate!(draft, old, context);
      assert.equal(draft.spec!.clusterIP, clusterIP);
      assert.deepEqual(draft.spec!.clusterIPs, [clusterIP]);
      assert.deepEqual(draft.spec!.ipFamilies, ['IPv4']);
      assert.deepEqual(strategy.validateUpdate!(draft, old, context), []);
    }
  }
});

test('a service that becomes ExternalName keeps no family of released addresses', () => {
  const { find } = setUp();
  const { strategy } = find(Services);
  const families = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack', internalTrafficPolicy: 'Cluster' };
  const held = { clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'] };
  const old: Service = {
    metadata: { name: 's' },
    spec: { type: 'ClusterIP', ports: [{ port: 80 }], ...held, ...families },
  };
  for (const kept of [held, {}]) {
    const spec = { type: 'ExternalName', externalName: 'a.b', ports: [{ port: 80 }], ...kept, ...families };
    const draft: Service = { metadata: { name: 's' }, spec };
    strategy.applyDefaults!(draft);
    strategy.prepareForUpdate!(draft, old, context);
    assert.deepEqual(
      (['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy'] as const).filter(
        (field) => draft.spec![field] !== undefined,
      ),
      ['internalTrafficPolicy'], // no allocation, so nothing to release
    );
    assert.deepEqual(strategy.validateUpdate!(draft, old, context), []);
  }
});

test('the name of another service keeps no policy of internal traffic', async () => {
  const { strategy } = setUp().find(Services);
  for (const given of [{}, { internalTrafficPolicy: 'Local' }]) {
    const named: Service = { metadata: { name: 's' }, spec: { type: 'ExternalName', externalName: 'a.b', ...given } };
    strategy.applyDefaults!(named);
    strategy.prepareForCreate!(named, context);
    assert.deepEqual(strategy.validate!(named, context), []);
    await strategy.allocate!(named, undefined, false);
    assert.equal(named.spec!.internalTrafficPolicy, undefined);
  }
});
