/** Bootstrap cluster roles for nodes and the cluster's own components. Upstream: rbac/bootstrappolicy/policy.go. */
import type { BootstrapRole } from './user-roles.ts';
import { rules } from './rule.ts';

const EVENTS = ['create,patch,update events', 'create,patch,update events:events'];

/** Roles for components, by name. */
export const componentRoles: Readonly<Record<string, BootstrapRole>> = {
  'system:node': {
    rules: rules(
      'create authentication:tokenreviews',
      'create authorization:subjectaccessreviews,authorization:localsubjectaccessreviews',
      'r services',
      'create,get,list,watch nodes',
      'patch,update nodes/status',
      'patch,update nodes',
      'r pods',
      'create,delete pods',
      'patch,update pods/status',
      'create pods/eviction',
      'r configmaps,secrets',
      'get persistentvolumeclaims,persistentvolumes',
      'get endpoints',
      ...EVENTS,
      'create,get,list,watch certificates:certificatesigningrequests',
      'create,delete,get,patch,update coordination:leases',
      'get storage:volumeattachments',
      'create serviceaccounts/token',
      'get,patch,update persistentvolumeclaims/status',
      'r storage:csidrivers',
      'create,delete,get,patch,update storage:csinodes',
      'r node:runtimeclasses',
      'get resource:resourceclaims',
      'deletecollection,r resource:resourceslices',
      'r certificates:clustertrustbundles',
    ),
  },
  'system:node-problem-detector': { rules: rules('get nodes', 'patch nodes/status', ...EVENTS) },
  // Beyond upstream's: pods, since host ports are rules of our proxy, and network policies select pods.
  'system:node-proxier': {
    rules: rules(
      'list,watch pods,namespaces',
      'list,watch services,endpoints',
      'get,list,watch nodes',
      ...EVENTS,
      'list,watch discovery:endpointslices',
      'list,watch networking:servicecidrs,networking:networkpolicies',
    ),
  },
  'system:kubelet-api-admin': {
    rules: rules(
      'get,list,watch nodes',
      'proxy nodes',
      '* nodes/log,nodes/metrics,nodes/proxy,nodes/stats,nodes/configz,nodes/healthz,nodes/pods',
    ),
  },
  // Serves routes. Secrets hold the certificates of ingresses; it runs in the server's process alone, not in the data plane.
  'keelson:gateway': {
    rules: rules(
      'list,watch services,secrets,configmaps,nodes,namespaces',
      'list,watch discovery:endpointslices',
      'list,watch networking:ingresses,networking:ingressclasses',
      'patch networking:ingresses/status',
      'list,watch gateway.networking.k8s.io:gatewayclasses,gateway.networking.k8s.io:gateways,gateway.networking.k8s.io:httproutes',
      'list,watch gateway.networking.k8s.io:grpcroutes,gateway.networking.k8s.io:referencegrants',
      'list,watch gateway.networking.k8s.io:tlsroutes,gateway.networking.k8s.io:backendtlspolicies',
      'patch gateway.networking.k8s.io:tlsroutes/status,gateway.networking.k8s.io:backendtlspolicies/status',
      'patch gateway.networking.k8s.io:gatewayclasses/status,gateway.networking.k8s.io:gateways/status',
      'patch gateway.networking.k8s.io:httproutes/status,gateway.networking.k8s.io:grpcroutes/status',
      ...EVENTS,
    ),
  },
  // The API server's own right to call kubelets, for itself and for its clients.
  'keelson:kubelet-client': {
    rules: rules(
      '* nodes/checkpoint,nodes/configz,nodes/healthz,nodes/log,nodes/metrics,nodes/pods,nodes/proxy,nodes/stats,nodes/statusz',
    ),
  },
  'system:node-bootstrapper': { rules: rules('create,get,list,watch certificates:certificatesigningrequests') },
  'system:auth-delegator': {
    rules: rules('create authentication:tokenreviews', 'create authorization:subjectaccessreviews'),
  },
  'system:kube-aggregator': { rules: rules('r services,endpoints', 'r discovery:endpointslices') },
  'system:kube-dns': {
    rules: rules('list,watch endpoints,services', 'list,watch discovery:endpointslices', 'list,watch namespaces,pods'),
  },
  'system:heapster': { rules: rules('r events,namespaces,nodes,pods', 'r extensions:deployments') },
  'system:persistent-volume-provisioner': {
    rules: rules(
      'create,delete,get,list,watch persistentvolumes',
      'get,list,update,watch persistentvolumeclaims',
      'r storage:storageclasses',
      'watch events',
      ...EVENTS,
    ),
  },
  'system:volume-scheduler': {
    rules: rules(
      'get,list,patch,update,watch persistentvolumes',
      'r storage:storageclasses',
      'get,list,patch,update,watch persistentvolumeclaims',
    ),
  },
  'system:service-account-issuer-discovery': {
    rules: rules(
      'get /.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,/openid/v1/jwks/',
    ),
  },
  'system:certificates.k8s.io:certificatesigningrequests:nodeclient': {
    rules: rules('create certificates:certificatesigningrequests/nodeclient'),
  },
  'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient': {
    rules: rules('create certificates:certificatesigningrequests/selfnodeclient'),
  },
  'system:certificates.k8s.io:kube-apiserver-client-approver': {
    rules: rules('approve certificates:signers#kubernetes.io/kube-apiserver-client'),
  },
  'system:certificates.k8s.io:kube-apiserver-client-kubelet-approver': {
    rules: rules('approve certificates:signers#kubernetes.io/kube-apiserver-client-kubelet'),
  },
  'system:certificates.k8s.io:kubelet-serving-approver': {
    rules: rules('approve certificates:signers#kubernetes.io/kubelet-serving'),
  },
  'system:certificates.k8s.io:legacy-unknown-approver': {
    rules: rules('approve certificates:signers#kubernetes.io/legacy-unknown'),
  },
  'system:kube-scheduler': {
    rules: rules(
      ...EVENTS,
      'create coordination:leases',
      'get,list,watch,update coordination:leases#kube-scheduler',
      'r nodes',
      'delete,get,list,watch pods',
      'create bindings,pods/binding',
      'patch,update pods/status',
      'r replicationcontrollers,services',
      'r apps:replicasets,apps:statefulsets',
      'r policy:poddisruptionbudgets',
      'r persistentvolumeclaims,persistentvolumes',
      'create authentication:tokenreviews',
      'create authorization:subjectaccessreviews',
      'r storage:csinodes,storage:csidrivers,storage:csistoragecapacities,storage:volumeattachments',
      'r namespaces',
      'r resource:deviceclasses,resource:devicetaintrules,resource:resourceclaims,resource:resourceslices',
      'update,patch resource:resourceclaims/status,resource:resourceclaims,resource:resourceclaims/binding',
      'create,delete resource:resourceclaims',
    ),
  },
  'system:kube-controller-manager': {
    rules: rules(
      ...EVENTS,
      'create coordination:leases',
      'get,list,watch,update coordination:leases#kube-controller-manager',
      'create secrets,serviceaccounts',
      'delete secrets',
      'get namespaces,secrets,serviceaccounts,configmaps',
      'update secrets,serviceaccounts',
      'create authentication:tokenreviews',
      'create authorization:subjectaccessreviews',
      'list,watch *:*',
      'create serviceaccounts/token',
    ),
  },
};
