// The fields that validation requires of each kind besides its name: most changes of such an object reach the code behind
// validation.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';

const labels = { app: 'a' };
const selector = { matchLabels: labels };
const podSpec = { containers: [{ name: 'c', image: 'i:1' }] };
const template = { metadata: { labels }, spec: podSpec };
const jobSpec = { template: { spec: { ...podSpec, restartPolicy: 'Never' } } };
const rule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' };
const resourceRules = [
  { apiGroups: ['fuzz.io'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'], scope: '*' },
];
const webhook = {
  name: 'a.fuzz.io',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  timeoutSeconds: 1,
  clientConfig: { url: 'https://127.0.0.1:1/' },
  rules: resourceRules,
};
const request = { exactly: { deviceClassName: 'a', count: 1 } };
const deviceSpec = { devices: { requests: [{ name: 'r', ...request, deviceClassName: 'a' }] } };
const capacity = { storage: '1Gi' };
const lease = {
  leaseName: 'a',
  pingTime: null,
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: 'OldestEmulationVersion',
};

/** By kind; kinds that require only a name are missing. */
export const minimalObjects: Readonly<Record<string, JsonObject>> = {
  Binding: { target: { kind: 'Node', name: 'node-1' } },
  ConfigMap: { data: { a: 'b' }, binaryData: { c: 'AA==' } },
  Endpoints: { subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }] },
  Event: {
    involvedObject: { kind: 'Pod', namespace: 'fuzz', name: 'a' },
    regarding: { kind: 'Pod', namespace: 'fuzz', name: 'a' },
    reason: 'Tested',
    type: 'Normal',
    action: 'Test',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'fuzz.io/a',
    reportingComponent: 'fuzz.io/a',
    reportingInstance: 'a',
  },
  LimitRange: { spec: { limits: [{ type: 'Container', max: { cpu: '4' }, default: { cpu: '1' } }] } },
  Node: { spec: { taints: [{ key: 'fuzz', effect: 'NoSchedule' }] } },
  PersistentVolumeClaim: { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: capacity } } },
  PersistentVolume: { spec: { capacity, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp/fuzz' } } },
  Pod: { metadata: { labels }, spec: podSpec },
  PodTemplate: { template },
  ReplicationController: { spec: { replicas: 0, selector: labels, template } },
  ResourceQuota: { spec: { hard: { 'count/fuzzes.fuzz.io': '5' } } },
  Secret: { data: { a: 'AA==' }, stringData: { b: 'c' } },
  Service: { spec: { selector: labels, ports: [{ port: 80 }] } },
  MutatingAdmissionPolicy: {
    spec: {
      matchConstraints: { resourceRules },
      reinvocationPolicy: 'Never',
      mutations: [
        { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "add", path: "/a", value: "b"}]' } },
      ],
    },
  },
  MutatingAdmissionPolicyBinding: { spec: { policyName: 'fuzz-a' } },
  MutatingWebhookConfiguration: { webhooks: [webhook] },
  ValidatingAdmissionPolicy: {
    spec: { matchConstraints: { resourceRules }, validations: [{ expression: 'object.metadata.name != "b"' }] },
  },
  ValidatingAdmissionPolicyBinding: { spec: { policyName: 'fuzz-a', validationActions: ['Deny'] } },
  ValidatingWebhookConfiguration: { webhooks: [webhook] },
  APIService: {
    spec: {
      group: 'peer.fuzz.io',
      version: 'v1',
      groupPriorityMinimum: 10,
      versionPriority: 10,
      service: { namespace: 'fuzz', name: 'a' },
      insecureSkipTLSVerify: true,
    },
  },
  ControllerRevision: { data: { a: 1 }, revision: 1 },
  DaemonSet: { spec: { selector, template } },
  Deployment: { spec: { replicas: 0, selector, template } },
  ReplicaSet: { spec: { replicas: 0, selector, template } },
  StatefulSet: { spec: { replicas: 0, serviceName: 'a', selector, template } },
  TokenReview: { spec: { token: 'a.b.c' } },
  TokenRequest: { spec: { audiences: ['a'], expirationSeconds: 600 } },
  LocalSubjectAccessReview: {
    spec: { user: 'a', resourceAttributes: { namespace: 'fuzz', verb: 'get', resource: 'pods' } },
  },
  SelfSubjectAccessReview: { spec: { nonResourceAttributes: { path: '/a', verb: 'get' } } },
  SelfSubjectRulesReview: { spec: { namespace: 'fuzz' } },
  SubjectAccessReview: { spec: { user: 'a', groups: ['g'], resourceAttributes: { verb: 'get', resource: 'pods' } } },
  HorizontalPodAutoscaler: { spec: { maxReplicas: 2, scaleTargetRef: target } },
  Scale: { spec: { replicas: 0 } },
  CronJob: { spec: { schedule: '0 0 29 2 *', jobTemplate: { spec: jobSpec } } },
  Job: { spec: { ...jobSpec, suspend: true } },
  CertificateSigningRequest: { spec: { request: 'AAAA', signerName: 'fuzz.io/a', usages: ['client auth'] } },
  Lease: { spec: { holderIdentity: 'a', leaseDurationSeconds: 10 } },
  LeaseCandidate: { spec: lease },
  EndpointSlice: { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }], ports: [{ name: 'a', port: 80 }] },
  FlowSchema: { spec: { priorityLevelConfiguration: { name: 'global-default' }, matchingPrecedence: 9500 } },
  PriorityLevelConfiguration: {
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } } },
  },
  IngressClass: { spec: { controller: 'fuzz.io/a' } },
  Ingress: { spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } } },
  VolumeAttributesClass: { driverName: 'fuzz.io', parameters: { a: 'b' } },
  IPAddress: { spec: { parentRef: { resource: 'services', namespace: 'fuzz', name: 'a' } } },
  NetworkPolicy: { spec: { podSelector: selector, ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] } },
  ServiceCIDR: { spec: { cidrs: ['10.99.0.0/24'] } },
  RuntimeClass: { handler: 'runc' },
  PodDisruptionBudget: { spec: { minAvailable: '50%', selector } },
  Eviction: {},
  ClusterRoleBinding: { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'fuzz-a' } },
  RoleBinding: { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'fuzz-a' } },
  ClusterRole: { rules: [rule] },
  Role: { rules: [rule] },
  DeviceClass: { spec: { selectors: [{ cel: { expression: 'device.driver == "fuzz.io"' } }] } },
  ResourceClaim: { spec: deviceSpec },
  ResourceClaimTemplate: { spec: { spec: deviceSpec } },
  ResourceSlice: {
    spec: {
      driver: 'fuzz.io',
      nodeName: 'node-9',
      pool: { name: 'a', generation: 1, resourceSliceCount: 1 },
      devices: [{ name: 'd' }],
    },
  },
  DeviceTaintRule: { spec: { taint: { key: 'fuzz.io/a', effect: 'NoSchedule' } } },
  PriorityClass: { value: 1 },
  CSIDriver: { spec: { attachRequired: false } },
  CSINode: { spec: { drivers: [] } },
  CSIStorageCapacity: { storageClassName: 'a', capacity: '1Gi' },
  StorageClass: { provisioner: 'fuzz.io/a' },
  VolumeAttachment: { spec: { attacher: 'fuzz.io', nodeName: 'node-1', source: { persistentVolumeName: 'a' } } },
  StorageVersionMigration: { spec: { resource: { group: 'apps', resource: 'deployments' } } },
  PodGroup: { spec: { schedulingPolicy: { basic: {} } } },
  Workload: { spec: { podGroupTemplates: [{ name: 'a', schedulingPolicy: { gang: { minCount: 2 } } }] } },
  ResourcePoolStatusRequest: { spec: { driver: 'fuzz.io' } },
};
