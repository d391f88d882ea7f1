import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigMaps, Namespaces, Pods, ServiceAccounts } from '../api/gen/resources.ts';
import type { ConfigMap, Namespace, Pod } from '../api/gen/core-v1.ts';
import { createRootCaPublisher } from './root-ca-certificate-publisher/root-ca-publisher.ts';
import { createServiceAccountsController } from './serviceaccount/serviceaccounts-controller.ts';
import { startHarness, type Harness } from './controllers-fixture.ts';
import { createNamespaceController } from './namespace/namespace-controller.ts';

const terminating: Namespace = {
  metadata: { name: 'team', deletionTimestamp: '2026-01-01T00:00:00Z' },
  spec: { finalizers: ['kubernetes'] },
  status: { phase: 'Terminating' },
};
const namespace = (h: Harness) => h.api.objects(Namespaces)[0];

describe('namespace', () => {
  it('is deleted with all its content, pods first', async () => {
    const h = startHarness([createNamespaceController]);
    h.api.seed(Pods, {
      metadata: { namespace: 'team', name: 'p', finalizers: ['x/hold'] },
      spec: { containers: [] },
    } as Pod);
    h.api.seed(ConfigMaps, { metadata: { namespace: 'team', name: 'c' } });
    h.api.seed(ConfigMaps, { metadata: { namespace: 'other', name: 'c' } });
    h.api.seed(Namespaces, terminating);
    await h.clock.advance(2000);
    const condition = (type: string) => namespace(h)?.status?.conditions?.find((c) => c.type === type);
    assert.equal(
      condition('NamespaceContentRemaining')?.message,
      'Some resources are remaining: pods. has 1 resource instances',
    );
    assert.equal(
      condition('NamespaceFinalizersRemaining')?.message,
      'Some content in the namespace has finalizers remaining: x/hold in 1 resource instances',
    );
    assert.equal(h.api.objects(ConfigMaps).length, 2);
    h.api.remove(Pods, 'team/p');
    await h.clock.advance(20_000);
    assert.equal(namespace(h), undefined);
    assert.deepEqual(
      h.api.objects(ConfigMaps).map((c) => c.metadata.namespace),
      ['other'],
    );
    await h.stop();
  });

  it('whose deletion failed for hours is retried within a minute', async () => {
    const h = startHarness([createNamespaceController]);
    h.api.seed(ConfigMaps, { metadata: { namespace: 'team', name: 'c' } });
    let fails = true;
    h.api.intercept = ({ method }) => {
      if (fails && method === 'DELETE') throw new Error('the server is away');
    };
    h.api.seed(Namespaces, terminating);
    await h.clock.advance(3 * 3_600_000);
    assert.notEqual(namespace(h), undefined);
    fails = false;
    await h.clock.advance(61_000);
    assert.equal(namespace(h), undefined);
    await h.stop();
  });

  it('is let go at once when it is empty, and left alone while it lives', async () => {
    const h = startHarness([createNamespaceController]);
    h.api.seed(Namespaces, { metadata: { name: 'alive' }, spec: { finalizers: ['kubernetes'] } });
    h.api.seed(Namespaces, terminating);
    await h.clock.advance(100);
    assert.deepEqual(
      h.api.objects(Namespaces).map((n) => n.metadata.name),
      ['alive'],
    );
    await h.stop();
  });
});

describe('every namespace', () => {
  it('gets a default service account and the root CA, again after deletion or change', async () => {
    const h = startHarness([createServiceAccountsController, createRootCaPublisher], { config: { rootCaPem: 'PEM' } });
    h.api.seed(Namespaces, { metadata: { name: 'team' } });
    h.api.seed(Namespaces, { ...terminating, metadata: { ...terminating.metadata, name: 'dying' } });
    await h.clock.advance(100);
    const accounts = () => h.api.objects(ServiceAccounts).map((a) => `${a.metadata.namespace}/${a.metadata.name}`);
    assert.deepEqual(accounts(), ['team/default']);
    assert.deepEqual(
      h.api.objects(ConfigMaps).map((m) => [m.metadata.namespace, m.metadata.name, m.data]),
      [['team', 'kube-root-ca.crt', { 'ca.crt': 'PEM' }]],
    );
    h.api.remove(ServiceAccounts, 'team/default');
    h.api.modify<ConfigMap>(ConfigMaps, 'team/kube-root-ca.crt', (old) => ({ ...old, data: {} }));
    await h.clock.advance(100);
    assert.deepEqual(accounts(), ['team/default']);
    assert.deepEqual(h.api.objects(ConfigMaps)[0]?.data, { 'ca.crt': 'PEM' });
    await h.stop();
  });
});
