/** What each controller alone writes, under the names of `list.ts`. */
import { attachDetachWrites } from './attach-detach/exclusive-writes.ts';
import { bootstrapSignerWrites } from './bootstrap-signer/exclusive-writes.ts';
import { certificateSigningWrites } from './certificates/exclusive-writes.ts';
import { cloudNodeLifecycleWrites } from './cloud-node-lifecycle/exclusive-writes.ts';
import { clusterRoleAggregationWrites } from './clusterrole-aggregation/exclusive-writes.ts';
import { cronJobWrites } from './cronjob/exclusive-writes.ts';
import { daemonSetWrites } from './daemonset/exclusive-writes.ts';
import { deploymentWrites } from './deployment/exclusive-writes.ts';
import { deviceTaintEvictionWrites } from './device-taint-eviction/exclusive-writes.ts';
import { disruptionWrites } from './disruption/exclusive-writes.ts';
import { endpointsWrites } from './endpoint/exclusive-writes.ts';
import { endpointSliceWrites } from './endpointslice/exclusive-writes.ts';
import { endpointSliceMirroringWrites } from './endpointslice-mirroring/exclusive-writes.ts';
import { ephemeralVolumeWrites } from './ephemeral-volume/exclusive-writes.ts';
import { garbageCollectorWrites } from './garbage-collector/exclusive-writes.ts';
import { horizontalPodAutoscalerWrites } from './horizontal-pod-autoscaler/exclusive-writes.ts';
import { jobWrites } from './job/exclusive-writes.ts';
import { localPathWrites } from './local-path/exclusive-writes.ts';
import { namespaceWrites } from './namespace/exclusive-writes.ts';
import { nodeIpamWrites } from './node-ipam/exclusive-writes.ts';
import { nodeLifecycleWrites } from './node-lifecycle/exclusive-writes.ts';
import { persistentVolumeBinderWrites } from './persistentvolume-binder/exclusive-writes.ts';
import { persistentVolumeExpanderWrites } from './persistentvolume-expander/exclusive-writes.ts';
import { podGarbageCollectorWrites } from './pod-garbage-collector/exclusive-writes.ts';
import { pvProtectionWrites } from './pv-protection/exclusive-writes.ts';
import { pvcProtectionWrites } from './pvc-protection/exclusive-writes.ts';
import { replicaSetWrites, replicationControllerWrites } from './replicaset/exclusive-writes.ts';
import { resourceClaimWrites } from './resourceclaim/exclusive-writes.ts';
import { resourceQuotaWrites } from './resourcequota/exclusive-writes.ts';
import { rootCaPublisherWrites } from './root-ca-certificate-publisher/exclusive-writes.ts';
import { serviceCidrsWrites } from './service-cidrs/exclusive-writes.ts';
import { serviceAccountWrites } from './serviceaccount/exclusive-writes.ts';
import { legacyTokenCleanerWrites, serviceAccountTokenWrites } from './serviceaccount-token/exclusive-writes.ts';
import { statefulSetWrites } from './statefulset/exclusive-writes.ts';
import { storageVersionGcWrites } from './storage-version-gc/exclusive-writes.ts';
import { taintEvictionWrites } from './taint-eviction/exclusive-writes.ts';
import { tokenCleanerWrites } from './token-cleaner/exclusive-writes.ts';
import { ttlWrites } from './ttl/exclusive-writes.ts';
import { ttlAfterFinishedWrites } from './ttl-after-finished/exclusive-writes.ts';
import { vacProtectionWrites } from './vac-protection/exclusive-writes.ts';
import { admissionPolicyStatusWrites } from './validatingadmissionpolicy-status/exclusive-writes.ts';
import type { ExclusiveWrites } from './exclusive-write.ts';
import type { ControllerName } from './list.ts';

/** Name in `--controllers` → its statement. */
export const exclusiveWrites: Readonly<Record<ControllerName, ExclusiveWrites>> = {
  'replicaset-controller': replicaSetWrites,
  'replicationcontroller-controller': replicationControllerWrites,
  'deployment-controller': deploymentWrites,
  'daemonset-controller': daemonSetWrites,
  'job-controller': jobWrites,
  'cronjob-controller': cronJobWrites,
  'ttl-after-finished-controller': ttlAfterFinishedWrites,
  'statefulset-controller': statefulSetWrites,
  'horizontal-pod-autoscaler-controller': horizontalPodAutoscalerWrites,
  'disruption-controller': disruptionWrites,
  'endpointslice-controller': endpointSliceWrites,
  'endpointslice-mirroring-controller': endpointSliceMirroringWrites,
  'endpoints-controller': endpointsWrites,
  'resourcequota-controller': resourceQuotaWrites,
  'resourceclaim-controller': resourceClaimWrites,
  'namespace-controller': namespaceWrites,
  'serviceaccount-controller': serviceAccountWrites,
  'serviceaccount-token-controller': serviceAccountTokenWrites,
  'legacy-serviceaccount-token-cleaner-controller': legacyTokenCleanerWrites,
  'root-ca-certificate-publisher-controller': rootCaPublisherWrites,
  'node-ipam-controller': nodeIpamWrites,
  'node-lifecycle-controller': nodeLifecycleWrites,
  'cloud-node-lifecycle-controller': cloudNodeLifecycleWrites,
  'ttl-controller': ttlWrites,
  'taint-eviction-controller': taintEvictionWrites,
  'device-taint-eviction-controller': deviceTaintEvictionWrites,
  'garbage-collector-controller': garbageCollectorWrites,
  'clusterrole-aggregation-controller': clusterRoleAggregationWrites,
  'certificatesigningrequest-signing-controller': certificateSigningWrites,
  'certificatesigningrequest-approving-controller': certificateSigningWrites,
  'kubelet-serving-certificate-approving-controller': certificateSigningWrites,
  'certificatesigningrequest-cleaner-controller': certificateSigningWrites,
  'bootstrap-signer-controller': bootstrapSignerWrites,
  'token-cleaner-controller': tokenCleanerWrites,
  'persistentvolume-binder-controller': persistentVolumeBinderWrites,
  'persistentvolume-attach-detach-controller': attachDetachWrites,
  'persistentvolume-expander-controller': persistentVolumeExpanderWrites,
  'ephemeral-volume-controller': ephemeralVolumeWrites,
  'local-path-provisioner-controller': localPathWrites,
  'persistentvolumeclaim-protection-controller': pvcProtectionWrites,
  'persistentvolume-protection-controller': pvProtectionWrites,
  'volumeattributesclass-protection-controller': vacProtectionWrites,
  'pod-garbage-collector-controller': podGarbageCollectorWrites,
  'service-cidr-controller': serviceCidrsWrites,
  'storageversion-garbage-collector-controller': storageVersionGcWrites,
  'validatingadmissionpolicy-status-controller': admissionPolicyStatusWrites,
};
