/** Bootstrap cluster roles for people: cluster-admin, admin, edit, view and discovery. Upstream: rbac/bootstrappolicy/policy.go. */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';
import { rules } from './rule.ts';

/** A cluster role of the bootstrap policy. */
export interface BootstrapRole {
  readonly rules?: readonly PolicyRule[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Combined from roles that carry this label. */
  readonly aggregate?: string;
}

const AGGREGATE = 'rbac.authorization.k8s.io/aggregate-to-';

const APPS =
  'apps:daemonsets,apps:deployments,apps:deployments/scale,apps:replicasets,apps:replicasets/scale,apps:statefulsets,apps:statefulsets/scale';
const VIEW = [
  'r configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status',
  'r bindings,events,limitranges,namespaces/status,pods/log,pods/status,replicationcontrollers/status,resourcequotas,resourcequotas/status',
  'r namespaces',
  'r discovery:endpointslices',
  `r apps:controllerrevisions,apps:daemonsets/status,apps:deployments/status,apps:replicasets/status,apps:statefulsets/status,${APPS}`,
  'r autoscaling:horizontalpodautoscalers,autoscaling:horizontalpodautoscalers/status',
  'r batch:cronjobs,batch:cronjobs/status,batch:jobs,batch:jobs/status',
  'r policy:poddisruptionbudgets,policy:poddisruptionbudgets/status',
  'r networking:ingresses,networking:ingresses/status,networking:networkpolicies',
  'r resource:resourceclaims,resource:resourceclaims/status,resource:resourceclaimtemplates',
];
const EDIT = [
  'r pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy',
  'impersonate serviceaccounts',
  'w pods,pods/attach,pods/exec,pods/portforward,pods/proxy',
  'create pods/eviction',
  'w configmaps,events,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,secrets,serviceaccounts,services,services/proxy',
  'create serviceaccounts/token',
  `w apps:deployments/rollback,${APPS}`,
  'w autoscaling:horizontalpodautoscalers',
  'w batch:cronjobs,batch:jobs',
  'w policy:poddisruptionbudgets',
  'w networking:ingresses,networking:networkpolicies',
  'rw coordination:leases',
  'w resource:resourceclaims,resource:resourceclaimtemplates',
];

/** Roles for people, by name. */
export const userRoles: Readonly<Record<string, BootstrapRole>> = {
  'cluster-admin': {
    rules: [
      { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
      { nonResourceURLs: ['*'], verbs: ['*'] },
    ],
  },
  'system:discovery': {
    rules: rules('get /api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/'),
  },
  'system:basic-user': {
    rules: rules(
      'create authorization:selfsubjectaccessreviews,authorization:selfsubjectrulesreviews',
      'create authentication:selfsubjectreviews',
    ),
  },
  // Each object that the answer is made of is authorized for the caller.
  'keelson:trouble': { rules: rules('get /keelson/v1/trouble') },
  'keelson:own-requests': { rules: rules('get /keelson/v1/requests,/keelson/v1/requests/*') },
  'system:public-info-viewer': { rules: rules('get /healthz,/livez,/readyz,/version,/version/') },
  'system:monitoring': {
    rules: rules('get /flagz,/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*,/statusz'),
  },
  admin: { aggregate: `${AGGREGATE}admin` },
  edit: { aggregate: `${AGGREGATE}edit`, labels: { [`${AGGREGATE}admin`]: 'true' } },
  view: { aggregate: `${AGGREGATE}view`, labels: { [`${AGGREGATE}edit`]: 'true' } },
  'system:aggregate-to-admin': {
    rules: rules('create authorization:localsubjectaccessreviews', 'rw rbac:rolebindings,rbac:roles'),
    labels: { [`${AGGREGATE}admin`]: 'true' },
  },
  'system:aggregated-metrics-reader': {
    rules: rules('get,list,watch metrics:nodes,metrics:pods'),
    labels: { [`${AGGREGATE}view`]: 'true', [`${AGGREGATE}edit`]: 'true', [`${AGGREGATE}admin`]: 'true' },
  },
  'system:aggregate-to-edit': { rules: rules(...EDIT), labels: { [`${AGGREGATE}edit`]: 'true' } },
  'system:aggregate-to-view': { rules: rules(...VIEW), labels: { [`${AGGREGATE}view`]: 'true' } },
};
