/** A whole control plane with the optional APIs enabled and their controllers running, with kubectl. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { StorageVersion } from '../../src/api/gen/apiserverinternal-v1alpha1.ts';
import type { Pod } from '../../src/api/gen/core-v1.ts';
import { until } from '../integration/fixtures/until.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';

describe('APIs that are disabled by default', () => {
  let plane: ControlPlaneFixture;
  before(async () => {
    plane = await startControlPlane({
      runtimeConfig: 'internal.apiserver.k8s.io/v1alpha1=true,resource.k8s.io/v1beta2/devicetaintrules=true',
    });
  });
  after(async () => {
    await plane?.stop();
  });

  async function must(args: readonly string[], input?: object): Promise<string> {
    const { code, stdout, stderr } = await plane.kubectl(args, input && JSON.stringify(input));
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return stdout;
  }
  const read = async <T>(...what: string[]): Promise<T> => JSON.parse(await must(['get', ...what, '-o', 'json'])) as T;

  test('storage versions: entries of removed servers are deleted', async () => {
    const own = await read<StorageVersion>('storageversion', 'apps.deployments');
    const [record] = own.status?.storageVersions ?? [];
    assert.equal(record?.encodingVersion, 'apps/v1');
    assert.match(record?.apiServerID ?? '', /^apiserver-[0-9a-z]+$/);
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: 'apiserver-other',
        namespace: 'kube-system',
        labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver' },
      },
      spec: {
        holderIdentity: 'apiserver-other_1',
        leaseDurationSeconds: 3600,
        renewTime: '2100-01-01T00:00:00.000000Z',
      },
    };
    await must(['create', '-f', '-'], lease);
    const other = {
      apiServerID: 'apiserver-other',
      encodingVersion: 'apps/v1beta1',
      decodableVersions: ['apps/v1', 'apps/v1beta1'],
      servedVersions: ['apps/v1'],
    };
    const status = { ...own.status, storageVersions: [record, other], commonEncodingVersion: undefined };
    await must(['replace', '--subresource=status', '-f', '-'], { ...own, status });
    const alone = { apiVersion: own.apiVersion, kind: own.kind, metadata: { name: 'example.com.things' }, spec: {} };
    await must(['create', '-f', '-'], alone);
    const things = await read<StorageVersion>('storageversion', 'example.com.things');
    await must(['replace', '--subresource=status', '-f', '-'], {
      ...things,
      status: { storageVersions: [other], commonEncodingVersion: other.encodingVersion },
    });
    const ids = async (): Promise<string> =>
      (await read<StorageVersion>('storageversion', 'apps.deployments')).status?.storageVersions
        ?.map(({ apiServerID }) => apiServerID)
        .join() ?? '';
    assert.equal(await ids(), `${record?.apiServerID},apiserver-other`);
    await must(['delete', 'lease', '-n', 'kube-system', 'apiserver-other']);
    await until('the record of the server that is gone is removed', async () => (await ids()) === record?.apiServerID);
    const { status: left } = await read<StorageVersion>('storageversion', 'apps.deployments');
    assert.deepEqual(
      [left?.commonEncodingVersion, left?.conditions?.map(({ type, status: is }) => [type, is])],
      ['apps/v1', [['AllEncodingVersionsEqual', 'True']]],
    );
    await must(['wait', '--for=delete', 'storageversion/example.com.things', '--timeout=120s']);
  });

  test("a rule taints a device: its pod is evicted, and the rule's status reports it", async () => {
    const [driver, pool] = ['gpu.example.com', 'p'];
    const meta = (name: string): object => ({ name, namespace: 'default' });
    await must(['create', '-f', '-'], { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
    await must(['create', '-f', '-'], {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceSlice',
      metadata: { name: 's' },
      spec: {
        driver,
        nodeName: 'n',
        pool: { name: pool, generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'd' }],
      },
    });
    const requests = [{ name: 'r', exactly: { deviceClassName: 'gpu' } }];
    await must(['create', '-f', '-'], {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaim',
      metadata: meta('c'),
      spec: { devices: { requests } },
    });
    await must(['create', '-f', '-'], {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: meta('p'),
      spec: {
        nodeName: 'n',
        tolerations: [{ operator: 'Exists' }],
        resourceClaims: [{ name: 'c', resourceClaimName: 'c' }],
        containers: [{ name: 'c', image: 'i', resources: { claims: [{ name: 'c' }] } }],
      },
    });
    const pod = await read<Pod>('pod', 'p');
    const claim = await read<object>('resourceclaim', 'c');
    await must(['replace', '--subresource=status', '-f', '-'], {
      ...claim,
      status: {
        allocation: { devices: { results: [{ driver, pool, device: 'd', request: 'r' }] } },
        reservedFor: [{ resource: 'pods', name: 'p', uid: pod.metadata.uid }],
      },
    });
    await must(['create', '-f', '-'], {
      apiVersion: 'resource.k8s.io/v1beta2',
      kind: 'DeviceTaintRule',
      metadata: { name: 'broken' },
      spec: { deviceSelector: { driver }, taint: { key: 'broken', effect: 'NoExecute' } },
    });
    const going = await until('the pod goes', async () => {
      const now = await read<Pod>('pod', 'p');
      return now.metadata.deletionTimestamp !== undefined && now;
    });
    const target = going.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
    assert.deepEqual([target?.status, target?.reason], ['True', 'DeletionByDeviceTaintManager']);
    await must(['wait', '--for=condition=EvictionInProgress=false', 'devicetaintrule/broken', '--timeout=120s']);
    const said = ['get', 'devicetaintrule', 'broken', '-o', 'jsonpath={.status.conditions[0].message}'];
    assert.match(await must(said), /^1 pod evicted since starting the controller\.$/);
  });
});
