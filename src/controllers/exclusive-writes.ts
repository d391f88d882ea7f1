/** What each controller alone writes, under the names of `list.ts`. */
import {
  ClusterRoles,
  CertificateSigningRequests,
  ConfigMaps,
  ControllerRevisions,
  CronJobs,
  DaemonSets,
  Deployments,
  DeviceTaintRules,
  Endpoints,
  EndpointSlices,
  HorizontalPodAutoscalers,
  Jobs,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  PodDisruptionBudgets,
  Pods,
  ReplicaSets,
  ReplicationControllers,
  ResourceClaims,
  ResourceQuotas,
  Secrets,
  ServiceAccounts,
  ServiceCIDRs,
  StatefulSets,
  ValidatingAdmissionPolicies,
  VolumeAttachments,
} from '../api/gen/resources.ts';
import { LOCAL_PATH_PROVISIONER } from '../component-helpers/local-path.ts';
import { TOKEN_SECRET_TYPE } from './serviceaccount-token/token-secrets.ts';
import { labelled, ownedBy, type ExclusiveWrite, type ExclusiveWrites } from './exclusive-write.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ControllerName } from './list.ts';

const by = (account: string, ...writes: ExclusiveWrite[]): ExclusiveWrites => ({ account, writes });
const creates = (resource: ResourceInfo, where?: ExclusiveWrite['where']): ExclusiveWrite => ({
  resource,
  creates: true,
  where,
});
const sets = (resource: ResourceInfo, ...fields: string[][]): ExclusiveWrite => ({ resource, fields });

const named =
  (name: string) =>
  ({ metadata }: KubernetesObject): boolean =>
    metadata.name === name;

/** Approvals are not exclusive: several controllers approve, and people do. */
const certificateSigning = by('certificate-controller', sets(CertificateSigningRequests, ['status', 'certificate']));

/** The statements by name in `--controllers`. A controller without any has a comment that names the other writers. */
export const exclusiveWrites: Readonly<Record<ControllerName, ExclusiveWrites>> = {
  'replicaset-controller': by(
    'replicaset-controller',
    sets(ReplicaSets, ['status']),
    creates(Pods, ownedBy('ReplicaSet')),
  ),
  'replicationcontroller-controller': by(
    'replication-controller',
    sets(ReplicationControllers, ['status']),
    creates(Pods, ownedBy('ReplicationController')),
  ),
  'deployment-controller': by(
    'deployment-controller',
    sets(Deployments, ['status'], ['metadata', 'annotations', 'deployment.kubernetes.io/revision']),
    { ...creates(ReplicaSets, ownedBy('Deployment')), fields: [['spec', 'replicas']] },
  ),
  'daemonset-controller': by(
    'daemon-set-controller',
    sets(DaemonSets, ['status']),
    creates(ControllerRevisions, ownedBy('DaemonSet')),
    creates(Pods, ownedBy('DaemonSet')),
  ),
  'job-controller': by('job-controller', sets(Jobs, ['status']), creates(Pods, ownedBy('Job'))),
  'cronjob-controller': by('cronjob-controller', sets(CronJobs, ['status']), creates(Jobs, ownedBy('CronJob'))),
  // It deletes finished jobs.
  'ttl-after-finished-controller': by('ttl-after-finished-controller'),
  'statefulset-controller': by(
    'statefulset-controller',
    sets(StatefulSets, ['status']),
    creates(ControllerRevisions, ownedBy('StatefulSet')),
    creates(Pods, ownedBy('StatefulSet')),
  ),
  // Target sizes are set through `scale`, which people use too.
  'horizontal-pod-autoscaler-controller': by('horizontal-pod-autoscaler', sets(HorizontalPodAutoscalers, ['status'])),
  // disruptionsAllowed is also lowered by evictions.
  'disruption-controller': by(
    'disruption-controller',
    sets(
      PodDisruptionBudgets,
      ['status', 'conditions'],
      ['status', 'currentHealthy'],
      ['status', 'desiredHealthy'],
      ['status', 'expectedPods'],
    ),
  ),
  'endpointslice-controller': by('endpointslice-controller', {
    ...creates(EndpointSlices, labelled('endpointslice.kubernetes.io/managed-by', 'endpointslice-controller.k8s.io')),
    fields: [['endpoints'], ['ports']],
  }),
  'endpointslice-mirroring-controller': by('endpointslicemirroring-controller', {
    ...creates(
      EndpointSlices,
      labelled('endpointslice.kubernetes.io/managed-by', 'endpointslicemirroring-controller.k8s.io'),
    ),
    fields: [['endpoints'], ['ports']],
  }),
  'endpoints-controller': by('endpoint-controller', {
    ...creates(Endpoints, labelled('endpoints.kubernetes.io/managed-by', 'endpoint-controller')),
    fields: [['subsets']],
  }),
  // status.used is also raised by admission.
  'resourcequota-controller': by('resourcequota-controller', sets(ResourceQuotas, ['status', 'hard'])),
  'resourceclaim-controller': by(
    'resource-claim-controller',
    creates(ResourceClaims, ownedBy('Pod')),
    sets(Pods, ['status', 'resourceClaimStatuses']),
  ),
  'namespace-controller': by('namespace-controller', sets(Namespaces, ['status', 'conditions'])),
  'serviceaccount-controller': by('service-account-controller', creates(ServiceAccounts, named('default'))),
  'serviceaccount-token-controller': by('manager', {
    ...sets(Secrets, ['data', 'token'], ['data', 'ca.crt'], ['data', 'namespace']),
    where: (secret) => 'type' in secret && secret.type === TOKEN_SECRET_TYPE,
  }),
  'legacy-serviceaccount-token-cleaner-controller': by(
    'legacy-service-account-token-cleaner',
    sets(Secrets, ['metadata', 'labels', 'kubernetes.io/legacy-token-invalid-since']),
  ),
  'root-ca-certificate-publisher-controller': by('root-ca-cert-publisher', {
    ...creates(ConfigMaps, named('kube-root-ca.crt')),
    fields: [['data']],
  }),
  // A kubelet may register with a range, which is kept.
  'node-ipam-controller': by('node-controller', sets(Nodes, ['spec', 'podCIDR'], ['spec', 'podCIDRs'])),
  // People and the kubelet set taints, too, and a kubelet that returns sets conditions.
  'node-lifecycle-controller': by('node-controller'),
  // People delete nodes, too, and taints are one list.
  'cloud-node-lifecycle-controller': by('node-controller'),
  // Its annotation is in one map with those of others.
  'ttl-controller': by('ttl-controller'),
  // Others delete pods and set a condition on them too.
  'taint-eviction-controller': by('node-controller'),
  // Others delete pods and set a condition on them too.
  'device-taint-eviction-controller': by('device-taint-eviction-controller', sets(DeviceTaintRules, ['status'])),
  // It deletes, and removes finalizers and owners, of objects of all kinds.
  'garbage-collector-controller': by('generic-garbage-collector'),
  'clusterrole-aggregation-controller': by('clusterrole-aggregation-controller', {
    ...sets(ClusterRoles, ['rules']),
    where: (role) => 'aggregationRule' in role,
  }),
  'certificatesigningrequest-signing-controller': certificateSigning,
  'certificatesigningrequest-approving-controller': certificateSigning,
  'kubelet-serving-certificate-approving-controller': certificateSigning,
  'certificatesigningrequest-cleaner-controller': certificateSigning,
  // People write `cluster-info` of kube-public; its entries there are known by their keys.
  'bootstrap-signer-controller': by('bootstrap-signer'),
  // It deletes expired tokens.
  'token-cleaner-controller': by('token-cleaner'),
  'persistentvolume-binder-controller': by(
    'persistent-volume-binder',
    sets(PersistentVolumes, ['status', 'phase']),
    sets(PersistentVolumeClaims, ['status', 'phase'], ['status', 'accessModes'], ['spec', 'volumeName']),
  ),
  'persistentvolume-attach-detach-controller': by(
    'attachdetach-controller',
    creates(VolumeAttachments),
    sets(Nodes, ['status', 'volumesAttached']),
  ),
  // It writes only events.
  'persistentvolume-expander-controller': by('expand-controller'),
  'ephemeral-volume-controller': by('ephemeral-volume-controller', creates(PersistentVolumeClaims, ownedBy('Pod'))),
  'local-path-provisioner-controller': by(
    'local-path-provisioner',
    creates(
      PersistentVolumes,
      ({ metadata }) => metadata.annotations?.['pv.kubernetes.io/provisioned-by'] === LOCAL_PATH_PROVISIONER,
    ),
  ),
  // For the three protections, admission adds the finalizer and the controller removes it.
  'persistentvolumeclaim-protection-controller': by('pvc-protection-controller'),
  'persistentvolume-protection-controller': by('pv-protection-controller'),
  'volumeattributesclass-protection-controller': by('volumeattributesclass-protection-controller'),
  // The kubelet writes a pod's last state, while the node has one.
  'pod-garbage-collector-controller': by('pod-garbage-collector'),
  'service-cidr-controller': by('service-cidrs-controller', sets(ServiceCIDRs, ['status', 'conditions'])),
  // The API servers write StorageVersions themselves.
  'storageversion-garbage-collector-controller': by('storage-version-garbage-collector'),
  'validatingadmissionpolicy-status-controller': by(
    'validatingadmissionpolicy-status-controller',
    sets(ValidatingAdmissionPolicies, ['status']),
  ),
};
