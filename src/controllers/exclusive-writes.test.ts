import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  DaemonSets,
  Deployments,
  Namespaces,
  PersistentVolumeClaims,
  ReplicationControllers,
  StatefulSets,
} from '../api/gen/resources.ts';
import { exclusiveWrites } from './exclusive-writes.ts';
import { controllers } from './list.ts';
import { makeOneOfEach } from './one-of-each-fixture.ts';
import { startServerHarness, type ServerHarness } from './server-harness-fixture.ts';
import { watchWrites } from './write-watch-fixture.ts';

/** Writes that need components that do not run here: other machines, signers, drivers. Each has its own tests. */
const ELSEWHERE = [
  'attachdetach-controller nodes status.volumesAttached',
  'attachdetach-controller volumeattachments creation',
  'certificate-controller certificatesigningrequests status.certificate',
  'device-taint-eviction-controller devicetaintrules status',
  'ephemeral-volume-controller persistentvolumeclaims creation',
  'legacy-service-account-token-cleaner secrets metadata.labels.kubernetes.io/legacy-token-invalid-since',
  'local-path-provisioner persistentvolumes creation',
  'resource-claim-controller pods status.resourceClaimStatuses',
  'resource-claim-controller resourceclaims creation',
  // An object without a field has no managed fields, so its creator is unknown.
  'service-account-controller serviceaccounts creation',
];

const statements = Object.values(exclusiveWrites);

it('no controller writes fields that another declares as its own', async () => {
  const h = await startServerHarness(Object.values(controllers), {
    clusterCidrs: ['10.42.0.0/16'],
    serviceCidrs: ['10.43.0.0/16'],
    rootCaPem: 'the authority',
    signServiceAccountToken: async () => 'token',
  });
  const managerOf = (account: string): string => (account === 'manager' ? 'kube-controller-manager' : account);
  const watch = watchWrites(h.store, statements, { managerOf, people: ['kubectl', 'unknown', ''] });
  await h.addNode('node');
  await makeOneOfEach(h);
  await h.run(70_000, { stepMs: 1000 });
  await change(h);
  await h.run(70_000, { stepMs: 1000 });
  assert.deepEqual([...watch.violations], []);
  assert.deepEqual([...new Set(names())].filter((name) => !watch.seen.has(name)).sort(), ELSEWHERE);
  watch.stop();
  await h.stop();
});

/** Every statement by name. */
function names(): string[] {
  return statements.flatMap(({ account, writes }) =>
    writes.flatMap(({ resource, creates, fields = [] }) =>
      [...(creates === true ? ['creation'] : []), ...fields.map((path) => path.join('.'))].map(
        (what) => `${account} ${resource.resource} ${what}`,
      ),
    ),
  );
}

/** A roll-out, a resize, ends, and deletions. */
async function change(h: ServerHarness): Promise<void> {
  await h.update(Deployments, 'default/d', (draft) => {
    draft.spec!.template.spec!.containers[0]!.image = 'i2';
    draft.spec!.replicas = 3;
  });
  await h.update(StatefulSets, 'default/t', (draft) => void (draft.spec!.template.spec!.containers[0]!.image = 'i2'));
  await h.update(DaemonSets, 'default/s', (draft) => void (draft.spec!.template.spec!.containers[0]!.image = 'i2'));
  for (const pod of await h.pods()) if (/^(j|cj)-/.test(pod.metadata.name ?? '')) await h.finish(pod, 'Succeeded');
  await h.remove(Namespaces, 'gone');
  await h.remove(ReplicationControllers, 'default/rc');
  await h.remove(PersistentVolumeClaims, 'default/c');
}
