/** All controllers under upstream's names. To add one: a folder and a line. */
import type { Controller, ControllerDeps } from './controller.ts';
import { createAttachDetachController } from './attach-detach/attach-detach-controller.ts';
import { createBootstrapSignerController } from './bootstrap-signer/bootstrap-signer-controller.ts';
import { createCsrApprovingController } from './certificates/csr-approving-controller.ts';
import { createCsrCleanerController } from './certificates/csr-cleaner-controller.ts';
import { createCsrSigningController } from './certificates/csr-signing-controller.ts';
import { createKubeletServingApprovingController } from './certificates/kubelet-serving-approving-controller.ts';
import { createCloudNodeLifecycleController } from './cloud-node-lifecycle/cloud-node-lifecycle-controller.ts';
import { createClusterRoleAggregationController } from './clusterrole-aggregation/clusterrole-aggregation-controller.ts';
import { createCronJobController } from './cronjob/cronjob-controller.ts';
import { createDaemonSetController } from './daemonset/daemonset-controller.ts';
import { createDeploymentController } from './deployment/deployment-controller.ts';
import { createDeviceTaintEvictionController } from './device-taint-eviction/device-taint-eviction-controller.ts';
import { createDisruptionController } from './disruption/disruption-controller.ts';
import { createEndpointsController } from './endpoint/endpoints-controller.ts';
import { createEndpointSliceMirroringController } from './endpointslice-mirroring/endpointslice-mirroring-controller.ts';
import { createEndpointSliceController } from './endpointslice/endpointslice-controller.ts';
import { createEphemeralVolumeController } from './ephemeral-volume/ephemeral-volume-controller.ts';
import { createGarbageCollector } from './garbage-collector/garbage-collector.ts';
import { createHorizontalPodAutoscalerController } from './horizontal-pod-autoscaler/hpa-controller.ts';
import { createJobController } from './job/job-controller.ts';
import { createLocalPathProvisioner } from './local-path/local-path-controller.ts';
import { createNamespaceController } from './namespace/namespace-controller.ts';
import { createNodeIpamController } from './node-ipam/node-ipam-controller.ts';
import { createNodeLifecycleController } from './node-lifecycle/node-lifecycle-controller.ts';
import { createPersistentVolumeBinder } from './persistentvolume-binder/binder-controller.ts';
import { createPersistentVolumeExpander } from './persistentvolume-expander/expander-controller.ts';
import { createPodGarbageCollector } from './pod-garbage-collector/pod-gc.ts';
import { createPvProtectionController } from './pv-protection/pv-protection-controller.ts';
import { createPvcProtectionController } from './pvc-protection/pvc-protection-controller.ts';
import { replicaSetFlavour, replicationControllerFlavour } from './replicaset/flavours.ts';
import { createReplicaController } from './replicaset/replicaset-controller.ts';
import { createResourceClaimController } from './resourceclaim/resourceclaim-controller.ts';
import { createResourceQuotaController } from './resourcequota/resourcequota-controller.ts';
import { createRootCaPublisher } from './root-ca-certificate-publisher/root-ca-publisher.ts';
import { createServiceCidrsController } from './service-cidrs/service-cidrs-controller.ts';
import { createServiceAccountsController } from './serviceaccount/serviceaccounts-controller.ts';
import { createLegacyTokenCleaner } from './serviceaccount-token/legacy-token-cleaner.ts';
import { createTokensController } from './serviceaccount-token/tokens-controller.ts';
import { createStatefulSetController } from './statefulset/statefulset-controller.ts';
import { createStorageVersionGcController } from './storage-version-gc/storage-version-gc-controller.ts';
import { createTaintEvictionController } from './taint-eviction/taint-eviction-controller.ts';
import { createTokenCleanerController } from './token-cleaner/token-cleaner-controller.ts';
import { createTtlController } from './ttl/ttl-controller.ts';
import { createTtlAfterFinishedController } from './ttl-after-finished/ttl-after-finished-controller.ts';
import { createVacProtectionController } from './vac-protection/vac-protection-controller.ts';
import { createValidatingAdmissionPolicyStatusController } from './validatingadmissionpolicy-status/status-controller.ts';

/** Makes a controller; nothing runs before its `start`. */
export type ControllerFactory = (deps: ControllerDeps) => Controller;

/** The factories by name in `--controllers`, in start order. */
export const controllers = {
  'replicaset-controller': (deps) => createReplicaController(deps, replicaSetFlavour),
  'replicationcontroller-controller': (deps) => createReplicaController(deps, replicationControllerFlavour),
  'deployment-controller': createDeploymentController,
  'daemonset-controller': createDaemonSetController,
  'job-controller': createJobController,
  'cronjob-controller': createCronJobController,
  'ttl-after-finished-controller': createTtlAfterFinishedController,
  'statefulset-controller': createStatefulSetController,
  'horizontal-pod-autoscaler-controller': createHorizontalPodAutoscalerController,
  'disruption-controller': createDisruptionController,
  'endpointslice-controller': createEndpointSliceController,
  'endpointslice-mirroring-controller': createEndpointSliceMirroringController,
  'endpoints-controller': createEndpointsController,
  'resourcequota-controller': createResourceQuotaController,
  'resourceclaim-controller': createResourceClaimController,
  'namespace-controller': createNamespaceController,
  'serviceaccount-controller': createServiceAccountsController,
  'serviceaccount-token-controller': createTokensController,
  'legacy-serviceaccount-token-cleaner-controller': createLegacyTokenCleaner,
  'root-ca-certificate-publisher-controller': createRootCaPublisher,
  'node-ipam-controller': createNodeIpamController,
  'node-lifecycle-controller': createNodeLifecycleController,
  'cloud-node-lifecycle-controller': createCloudNodeLifecycleController,
  'ttl-controller': createTtlController,
  'taint-eviction-controller': createTaintEvictionController,
  'device-taint-eviction-controller': createDeviceTaintEvictionController,
  'garbage-collector-controller': createGarbageCollector,
  'clusterrole-aggregation-controller': createClusterRoleAggregationController,
  'certificatesigningrequest-signing-controller': createCsrSigningController,
  'certificatesigningrequest-approving-controller': createCsrApprovingController,
  'kubelet-serving-certificate-approving-controller': createKubeletServingApprovingController,
  'certificatesigningrequest-cleaner-controller': createCsrCleanerController,
  'bootstrap-signer-controller': createBootstrapSignerController,
  'token-cleaner-controller': createTokenCleanerController,
  'persistentvolume-binder-controller': createPersistentVolumeBinder,
  'persistentvolume-attach-detach-controller': createAttachDetachController,
  'persistentvolume-expander-controller': createPersistentVolumeExpander,
  'ephemeral-volume-controller': createEphemeralVolumeController,
  'local-path-provisioner-controller': createLocalPathProvisioner,
  'persistentvolumeclaim-protection-controller': createPvcProtectionController,
  'persistentvolume-protection-controller': createPvProtectionController,
  'volumeattributesclass-protection-controller': createVacProtectionController,
  'pod-garbage-collector-controller': createPodGarbageCollector,
  'service-cidr-controller': createServiceCidrsController,
  'storageversion-garbage-collector-controller': createStorageVersionGcController,
  'validatingadmissionpolicy-status-controller': createValidatingAdmissionPolicyStatusController,
} satisfies Readonly<Record<string, ControllerFactory>>;

export type ControllerName = keyof typeof controllers;

/**
 * Creates the named controllers (default: all), starts the informers and then the controllers. Resolves when all have
 * ended after the signal's abort.
 */
export async function runControllers(
  deps: ControllerDeps,
  signal: AbortSignal,
  names: readonly string[] = Object.keys(controllers),
): Promise<void> {
  const made = names.map((name) => {
    const factory = (controllers as Readonly<Record<string, ControllerFactory>>)[name];
    if (factory === undefined) throw new Error(`"${name}" is not in the list of known controllers`);
    return factory(deps);
  });
  deps.informers.start(signal);
  const running = deps.platform.metrics.gauge({
    name: 'running_managed_controllers',
    help: 'Whether a controller runs in a controller manager.',
    labels: ['name', 'manager'],
  });
  await Promise.all(
    made.map(async (controller) => {
      const labels = { name: controller.name, manager: 'kube-controller-manager' };
      running.set(1, labels);
      await controller.start(signal);
      running.set(0, labels);
    }),
  );
}
