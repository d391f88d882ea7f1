/** Claims without a volume: the event about what they wait for, and the request to a provisioner. */
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import { PersistentVolumeClaims } from '../../api/gen/resources.ts';
import type { StorageClass } from '../../api/gen/storage-v1.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { PODS_BY_CLAIM } from '../../component-helpers/pod-claims.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { classOf } from './matching.ts';

const PROVISIONERS = ['volume.kubernetes.io/storage-provisioner', 'volume.beta.kubernetes.io/storage-provisioner'];

interface ProvisionDeps {
  readonly client: Client;
  readonly recorder: EventRecorder;
  readonly pods: Informer<Pod>;
}

/** Upstream: emitEventForUnboundDelayBindingClaim. */
export function emitEventForUnboundDelayBindingClaim(
  { pods, recorder }: ProvisionDeps,
  claim: PersistentVolumeClaim,
): void {
  const waiting = pods
    .byIndex(PODS_BY_CLAIM, keyOfObject(claim))
    .filter((pod) => (pod.spec?.nodeName ?? '') === '' && !isPodTerminal(pod))
    .map(({ metadata }) => metadata.name);
  const [reason, message] =
    waiting.length === 0
      ? (['WaitForFirstConsumer', 'waiting for first consumer to be created before binding'] as const)
      : ([
          'WaitForPodScheduled',
          `waiting for pod${waiting.length > 1 ? 's' : ''} ${waiting.join(',')} to be scheduled`,
        ] as const);
  recorder.event(claim, 'Normal', reason, message);
}

/** Provisioners within Kubernetes of earlier versions whose claims CSI drivers take. */
const TAKEN_BY_DRIVERS = [
  'aws-ebs',
  'azure-disk',
  'azure-file',
  'cinder',
  'gce-pd',
  'portworx-volume',
  'vsphere-volume',
];

/** Whether a provisioner is named as one within Kubernetes, none of which is left; `no-provisioner` is one. */
function isOfNobody(provisioner: string): boolean {
  const prefix = 'kubernetes.io/';
  return provisioner.startsWith(prefix) && !TAKEN_BY_DRIVERS.includes(provisioner.slice(prefix.length));
}

/** Hands the claim to the external provisioner of its class. Upstream: provisionClaimOperationExternal. */
export async function provisionClaim(
  { client, recorder }: ProvisionDeps,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
  signal: AbortSignal,
): Promise<void> {
  const name = classOf(claim);
  const failed = (message: string): void => recorder.event(claim, 'Warning', 'ProvisioningFailed', message);
  if (name === '')
    return recorder.event(
      claim,
      'Normal',
      'FailedBinding',
      'no persistent volumes available for this claim and no storage class is set',
    );
  if (storageClass === undefined) return failed(`storageclass.storage.k8s.io "${name}" not found`);
  const { provisioner } = storageClass;
  if (isOfNobody(provisioner)) return failed(`no volume plugin matched name: ${provisioner}`);
  if (PROVISIONERS.some((annotation) => claim.metadata.annotations?.[annotation] !== provisioner)) {
    const annotations = {
      ...claim.metadata.annotations,
      ...Object.fromEntries(PROVISIONERS.map((annotation) => [annotation, provisioner])),
    };
    await client
      .resource(PersistentVolumeClaims)
      .patch(parseKey(keyOfObject(claim)), { type: 'merge', patch: { metadata: { annotations } } }, { signal });
  }
  const advice =
    'If volume creation is delayed, please verify that the provisioner is running and correctly registered.';
  recorder.event(
    claim,
    'Normal',
    'ExternalProvisioning',
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. ${advice}`,
  );
}
