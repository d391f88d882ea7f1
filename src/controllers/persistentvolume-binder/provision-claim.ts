/** Claims for which no volume is there: what they wait for, and the provisioner that is asked for one. */
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

const NO_PROVISIONER = 'kubernetes.io/no-provisioner';
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
      ? ['WaitForFirstConsumer', 'waiting for first consumer to be created before binding']
      : ['WaitForPodScheduled', `waiting for pod${waiting.length > 1 ? 's' : ''} ${waiting.join(',')} to be scheduled`];
  recorder.event(claim, 'Normal', reason, message);
}

/** Hands the claim to the provisioner of its class, an external one. Upstream: provisionClaimOperationExternal. */
export async function provisionClaim(
  { client, recorder }: ProvisionDeps,
  claim: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
  signal: AbortSignal,
): Promise<void> {
  const name = classOf(claim);
  const noClass = (): void =>
    recorder.event(
      claim,
      'Normal',
      'FailedBinding',
      'no persistent volumes available for this claim and no storage class is set',
    );
  if (name === '') return noClass();
  if (storageClass === undefined)
    return recorder.event(claim, 'Warning', 'ProvisioningFailed', `storageclass.storage.k8s.io "${name}" not found`);
  const { provisioner } = storageClass;
  if (provisioner === NO_PROVISIONER) return noClass();
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
