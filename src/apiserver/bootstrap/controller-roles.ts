/**
 * Bootstrap cluster roles of the built-in controllers: `system:controller:NAME`, each bound to the service account NAME
 * in kube-system. Upstream: rbac/bootstrappolicy/controller_policy.go.
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { rules } from './rule.ts';

const EVENTS = ['create,patch,update events', 'create,patch,update events:events'];
const withEvents = (...lines: string[]): PolicyRule[] => rules(...lines, ...EVENTS);

/**
 * Our controllers write what they change as patches, where upstream's send whole objects: roles with `update` also have `patch`.
 * A patch cannot do more than an update.
 */
export function patchWhereUpdate(rule: PolicyRule): PolicyRule {
  return rule.verbs.includes('update') && !rule.verbs.includes('patch')
    ? { ...rule, verbs: [...rule.verbs, 'patch'] }
    : rule;
}

export const controllerRoles: Readonly<Record<string, readonly PolicyRule[]>> = {
  'attachdetach-controller': withEvents(
    'list,watch persistentvolumes,persistentvolumeclaims',
    'r nodes',
    'patch,update nodes/status',
    'list,watch pods',
    'create,delete,get,list,watch storage:volumeattachments',
    'r storage:csidrivers,storage:csinodes',
  ),
  'clusterrole-aggregation-controller': rules('escalate,get,list,patch,update,watch rbac:clusterroles'),
  'cronjob-controller': withEvents(
    'get,list,update,watch batch:cronjobs',
    'create,delete,get,list,patch,update,watch batch:jobs',
    'update batch:cronjobs/status',
    'update batch:cronjobs/finalizers',
    'delete,list,watch pods',
  ),
  'daemon-set-controller': withEvents(
    'r apps:daemonsets',
    'update apps:daemonsets/status',
    'update apps:daemonsets/finalizers',
    'list,watch nodes',
    'create,delete,list,patch,watch pods',
    'create pods/binding',
    'create,delete,get,list,patch,update,watch apps:controllerrevisions',
  ),
  'deployment-controller': withEvents(
    'get,list,update,watch apps:deployments',
    'update apps:deployments/status',
    'update apps:deployments/finalizers',
    'create,delete,get,list,patch,update,watch apps:replicasets',
    'get,list,update,watch pods',
  ),
  'device-taint-eviction-controller': withEvents(
    'delete,get,list,watch pods',
    'patch,update pods/status',
    'r resource:resourceclaims,resource:resourceslices,resource:deviceclasses,resource:devicetaintrules',
    'patch,update resource:devicetaintrules/status',
  ),
  'disruption-controller': withEvents(
    'r apps:deployments,apps:replicasets,apps:statefulsets',
    'r replicationcontrollers',
    'r policy:poddisruptionbudgets',
    'update policy:poddisruptionbudgets/status',
    'patch,update pods/status',
    'r pods',
    'get *:*/scale',
  ),
  'endpoint-controller': withEvents(
    'r services,pods',
    'create,delete,get,list,patch,update,watch endpoints',
    'create endpoints/restricted',
  ),
  'endpointslice-controller': withEvents(
    'r services,pods,nodes',
    'update services/finalizers',
    'create,delete,get,list,update,watch discovery:endpointslices',
    'create discovery:endpointslices/restricted',
  ),
  'endpointslicemirroring-controller': withEvents(
    'r services,endpoints',
    'update services/finalizers',
    'update endpoints/finalizers',
    'create,delete,get,list,update,watch discovery:endpointslices',
    'create discovery:endpointslices/restricted',
  ),
  'ephemeral-volume-controller': withEvents(
    'update pods/finalizers',
    'r pods',
    'create,get,list,watch persistentvolumeclaims',
  ),
  'expand-controller': withEvents(
    'get,list,patch,update,watch persistentvolumes',
    'patch,update persistentvolumeclaims/status',
    'r persistentvolumeclaims',
  ),
  'generic-garbage-collector': withEvents('delete,get,list,patch,update,watch *:*'),
  'horizontal-pod-autoscaler': withEvents(
    'r autoscaling:horizontalpodautoscalers',
    'update autoscaling:horizontalpodautoscalers/status',
    'get,update *:*/scale',
    'list,watch pods',
    'list,watch metrics:pods',
    'r custommetrics:*',
    'r externalmetrics:*',
  ),
  'job-controller': withEvents(
    'get,list,patch,update,watch batch:jobs',
    'update batch:jobs/status',
    'update batch:jobs/finalizers',
    'create,delete,list,patch,watch pods',
  ),
  'legacy-service-account-token-cleaner': rules(
    'get configmaps#kube-apiserver-legacy-service-account-token-tracking',
    'delete,patch secrets',
  ),
  'local-path-provisioner': withEvents(
    'create,delete,get,list,patch,watch persistentvolumes',
    'get,list,patch,watch persistentvolumeclaims',
    'r storage:storageclasses',
    'r nodes',
    'delete nodes/proxy',
  ),
  'namespace-controller': rules(
    'delete,get,list,watch namespaces',
    'update namespaces/finalize,namespaces/status',
    'delete,deletecollection,get,list,watch *:*',
  ),
  'node-controller': withEvents(
    'delete,get,list,patch,update,watch nodes',
    'patch,update nodes/status',
    'patch,update pods/status',
    'delete,get,list,watch pods',
    'r coordination:leases',
  ),
  'persistent-volume-binder': withEvents(
    'create,delete,get,list,update,watch persistentvolumes',
    'update persistentvolumes/status',
    'get,list,update,watch persistentvolumeclaims',
    'update persistentvolumeclaims/status',
    'create,delete,get,list,watch pods',
    'r storage:storageclasses',
    'list,watch nodes',
    'watch events',
  ),
  'pod-garbage-collector': rules('delete,list,watch pods', 'r nodes', 'patch pods/status'),
  'pv-protection-controller': withEvents('get,list,update,watch persistentvolumes'),
  'pvc-protection-controller': withEvents(
    'get,list,update,watch persistentvolumeclaims',
    'update persistentvolumeclaims/status',
    'r pods',
  ),
  'replicaset-controller': withEvents(
    'get,list,update,watch apps:replicasets',
    'update apps:replicasets/status',
    'update apps:replicasets/finalizers',
    'create,delete,list,patch,watch pods',
  ),
  'replication-controller': withEvents(
    'get,list,update,watch replicationcontrollers',
    'update replicationcontrollers/status',
    'update replicationcontrollers/finalizers',
    'create,delete,list,patch,watch pods',
  ),
  'resource-claim-controller': withEvents(
    'update pods/finalizers',
    'r pods',
    'create,delete,r resource:resourceclaims',
    'patch,update resource:resourceclaims,resource:resourceclaims/status,resource:resourceclaims/binding',
    'patch,update pods/status',
  ),
  'resourcequota-controller': withEvents('list,watch *:*', 'update resourcequotas/status'),
  'root-ca-cert-publisher': withEvents('create,update,r configmaps', 'r namespaces'),
  'route-controller': withEvents('list,watch nodes', 'patch nodes/status'),
  'selinux-warning-controller': withEvents('r persistentvolumes,persistentvolumeclaims,pods', 'r storage:csidrivers'),
  'service-account-controller': withEvents('create,r serviceaccounts', 'r namespaces'),
  'service-cidrs-controller': withEvents(
    'get,list,patch,update,watch networking:servicecidrs',
    'patch,update networking:servicecidrs/finalizers,networking:servicecidrs/status',
    'r networking:ipaddresses',
  ),
  'service-controller': withEvents(
    'r services',
    'patch,update services/status',
    'list,watch nodes',
    'list,watch discovery:endpointslices',
  ),
  'storage-version-garbage-collector': rules(
    'r coordination:leases',
    'delete,get,list,watch internal:storageversions',
    'patch,update internal:storageversions/status',
  ),
  'statefulset-controller': withEvents(
    'list,watch pods',
    'r apps:statefulsets',
    'update apps:statefulsets/status',
    'update apps:statefulsets/finalizers',
    'create,delete,get,patch,update pods',
    'create,delete,get,list,patch,update,watch apps:controllerrevisions',
    'create,get,list,watch,update,delete persistentvolumeclaims',
    'update pods/finalizers',
  ),
  'ttl-after-finished-controller': withEvents('delete,get,list,watch batch:jobs'),
  'ttl-controller': withEvents('list,patch,update,watch nodes'),
  'validatingadmissionpolicy-status-controller': withEvents(
    'r admissionregistration:validatingadmissionpolicies',
    'get,patch,update admissionregistration:validatingadmissionpolicies/status',
  ),
  'volumeattributesclass-protection-controller': withEvents(
    'r persistentvolumeclaims,persistentvolumes',
    'get,list,update,watch storage:volumeattributesclasses',
  ),
  'certificate-controller': withEvents(
    'delete,get,list,watch certificates:certificatesigningrequests',
    'update certificates:certificatesigningrequests/approval,certificates:certificatesigningrequests/status',
    'approve certificates:signers#kubernetes.io/kube-apiserver-client-kubelet#kubernetes.io/kubelet-serving',
    'sign certificates:signers#kubernetes.io/legacy-unknown#kubernetes.io/kubelet-serving#kubernetes.io/kube-apiserver-client-kubelet#kubernetes.io/kube-apiserver-client',
    'create authorization:subjectaccessreviews',
  ),
};
