/** Field selectors of built-in kinds, and the errors for other fields. Upstream: AddFieldLabelConversionFunc. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';
import type { TestServer } from './server-fixture.ts';

const EVENT = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'];
const eventFields = (about: string, reporter: string): string[] => [
  ...EVENT.map((name) => `${about}.${name}`),
  'reason',
  reporter,
  'type',
];

/** Fields beside name and namespace. Kinds that are not here have none. */
const SELECTABLE: Readonly<Record<string, readonly string[]>> = {
  'v1 Pod': [
    'spec.nodeName',
    'spec.host',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  'v1 Node': ['spec.unschedulable'],
  'v1 ReplicationController': ['status.replicas'],
  'v1 Event': [...eventFields('involvedObject', 'reportingComponent'), 'source'],
  'events.k8s.io/v1 Event': eventFields('regarding', 'reportingController'),
  'v1 Namespace': ['status.phase'],
  'v1 Secret': ['type'],
  'v1 Service': ['spec.clusterIP', 'spec.type'],
  'batch/v1 Job': ['status.successful'],
  'certificates.k8s.io/v1 CertificateSigningRequest': ['spec.signerName'],
  'certificates.k8s.io/v1alpha1 ClusterTrustBundle': ['spec.signerName'],
  'certificates.k8s.io/v1beta1 ClusterTrustBundle': ['spec.signerName'],
  'resource.k8s.io/v1 ResourceSlice': ['spec.nodeName', 'spec.driver'],
  'resource.k8s.io/v1beta1 ResourceSlice': ['spec.nodeName', 'spec.driver'],
  'resource.k8s.io/v1beta2 ResourceSlice': ['spec.nodeName', 'spec.driver'],
};

let server: TestServer;
before(async () => {
  server = await startWithAll([], 'api/all=true');
});

test("every kind is selected by upstream's fields and by no others", () => {
  for (const { apiVersion, info, definition } of server.storage.registry.served) {
    if (definition.virtual !== undefined) continue;
    const fields = Object.keys(definition.selectableFields?.({ metadata: { name: 'a' } }) ?? {});
    const kind = `${apiVersion} ${info.kind}`;
    assert.deepEqual(fields.toSorted(), (SELECTABLE[kind] ?? []).toSorted(), kind);
  }
});

test('the errors for other fields', async () => {
  const answers = [
    ['/api/v1/pods', 'a', 'field label not supported: a'],
    ['/api/v1/nodes', 'metadata.namespace', 'field label not supported: metadata.namespace'],
    ['/apis/batch/v1/jobs', 'a', 'field label "a" not supported for Job'],
    [
      '/apis/resource.k8s.io/v1/resourceslices',
      'a',
      'field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: a',
    ],
    ['/api/v1/configmaps', 'a', '"a" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    ['/apis/storage.k8s.io/v1/storageclasses', 'metadata.namespace', undefined],
  ] as const;
  for (const [path, field, message] of answers) {
    const answer = await server.send('GET', `${path}?fieldSelector=${field}%3Db`);
    assert.equal(answer.body.message, message, path);
    assert.equal(answer.status, message === undefined ? 200 : 400, path);
  }
});
