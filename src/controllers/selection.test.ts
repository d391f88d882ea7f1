import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllers } from './list.ts';
import { selectControllers } from './selection.ts';

const known = ['deployment-controller', 'job-controller', 'namespace-controller'];
const rows: [list: string, names: string[]][] = [
  ['*', known],
  ['', []],
  ['job-controller', ['job-controller']],
  ['*,-job', ['deployment-controller', 'namespace-controller']],
  ['namespace, deployment', ['deployment-controller', 'namespace-controller']],
  ['-job-controller', []],
];
for (const [list, names] of rows)
  test(`--controllers ${list || "''"}`, () => assert.deepEqual(selectControllers(list, known), names));

test('an unknown name is refused', () => {
  assert.throws(() => selectControllers('*,-jobs', known), {
    message: '"jobs" is not in the list of known controllers',
  });
  assert.throws(() => selectControllers('constructor', known), /not in the list/);
});

test('a controller of upstream that is not built here may be turned off, and is refused with the reason', () => {
  assert.deepEqual(selectControllers('*,-service,-selinux-warning-controller', known), known);
  assert.throws(() => selectControllers('*,service', known), {
    message:
      '"service" is not built into this controller manager: load balancers come from a cloud, whose own controller manager runs it',
  });
});

/** kube-controller-manager's own, v1.36. */
const UPSTREAM = [
  ...['bootstrap-signer', 'certificatesigningrequest-approving', 'certificatesigningrequest-cleaner'],
  ...['certificatesigningrequest-signing', 'cloud-node-lifecycle', 'clusterrole-aggregation', 'cronjob', 'daemonset'],
  ...['deployment', 'device-taint-eviction', 'disruption', 'endpoints', 'endpointslice', 'endpointslice-mirroring'],
  ...['ephemeral-volume', 'garbage-collector', 'horizontal-pod-autoscaler', 'job'],
  ...['kube-apiserver-serving-clustertrustbundle-publisher', 'legacy-serviceaccount-token-cleaner', 'namespace'],
  ...['node-ipam', 'node-lifecycle', 'node-route', 'persistentvolume-attach-detach', 'persistentvolume-binder'],
  ...['persistentvolume-expander', 'persistentvolume-protection', 'persistentvolumeclaim-protection'],
  ...['pod-garbage-collector', 'podcertificaterequest-cleaner', 'replicaset', 'replicationcontroller', 'resourceclaim'],
  ...['resourcequota', 'root-ca-certificate-publisher', 'selinux-warning', 'service-cidr', 'service-lb'],
  ...['serviceaccount', 'serviceaccount-token', 'statefulset', 'storage-version-migrator'],
  ...['storageversion-garbage-collector', 'taint-eviction', 'token-cleaner', 'ttl', 'ttl-after-finished'],
  ...['validatingadmissionpolicy-status', 'volumeattributesclass-protection'],
].map((name) => `${name}-controller`);

/** Controllers that upstream leaves to administrators or distributions. */
const OWN = ['kubelet-serving-certificate-approving-controller', 'local-path-provisioner-controller'];

test("the names are upstream's: each of those is built, or refused with a reason", () => {
  const built = Object.keys(controllers);
  for (const name of UPSTREAM) {
    if (built.includes(name)) assert.deepEqual(selectControllers(name, built), [name]);
    else assert.throws(() => selectControllers(name, built), /is not built into this controller manager: /, name);
  }
  assert.deepEqual(built.filter((name) => !UPSTREAM.includes(name)).toSorted(), OWN);
});

test('every early name leads to a controller there is', () => {
  for (const early of [
    'attachdetach',
    'cloud-node-lifecycle',
    'endpoint',
    'horizontalpodautoscaling',
    'pvc-protection',
    'resource-claim-controller',
    'storage-version-gc',
    'tokencleaner',
    'ttl',
  ])
    assert.equal(selectControllers(early, Object.keys(controllers)).length, 1, early);
});
