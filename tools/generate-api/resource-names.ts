// The short names and categories of resources, which kubectl resolves. Upstream: ShortNames() and Categories() of each registry's
// storage.

/** Short names by plural resource name; `group/resource` has precedence over the bare name. */
export const shortNames: Record<string, string[]> = {
  componentstatuses: ['cs'],
  configmaps: ['cm'],
  endpoints: ['ep'],
  events: ['ev'],
  limitranges: ['limits'],
  namespaces: ['ns'],
  nodes: ['no'],
  persistentvolumeclaims: ['pvc'],
  persistentvolumes: ['pv'],
  pods: ['po'],
  replicationcontrollers: ['rc'],
  resourcequotas: ['quota'],
  serviceaccounts: ['sa'],
  services: ['svc'],
  customresourcedefinitions: ['crd', 'crds'],
  daemonsets: ['ds'],
  deployments: ['deploy'],
  replicasets: ['rs'],
  statefulsets: ['sts'],
  horizontalpodautoscalers: ['hpa'],
  cronjobs: ['cj'],
  certificatesigningrequests: ['csr'],
  ingresses: ['ing'],
  networkpolicies: ['netpol'],
  ipaddresses: ['ip'],
  poddisruptionbudgets: ['pdb'],
  priorityclasses: ['pc'],
  storageclasses: ['sc'],
  volumeattributesclasses: ['vac'],
};

const all = ['all'];
const extensions = ['api-extensions'];

/** Categories by plural resource name. */
export const categories: Record<string, string[]> = {
  pods: all,
  replicationcontrollers: all,
  services: all,
  daemonsets: all,
  deployments: all,
  replicasets: all,
  statefulsets: all,
  horizontalpodautoscalers: all,
  cronjobs: all,
  jobs: all,
  apiservices: extensions,
  customresourcedefinitions: extensions,
  mutatingwebhookconfigurations: extensions,
  validatingwebhookconfigurations: extensions,
  validatingadmissionpolicies: extensions,
  validatingadmissionpolicybindings: extensions,
  mutatingadmissionpolicies: extensions,
  mutatingadmissionpolicybindings: extensions,
};
