/** The objects of a round of churn, all of which contain the round's name. */
import type { KubernetesObject } from '../../../src/api/object.ts';

/** The name of a round's objects. */
export function churnedName(round: number): string {
  return `churned-${round}`;
}

/** Matches every text derived from such a name. */
export const CHURNED = /churned-\d/;

type Body = Readonly<Record<string, unknown>>;

/** A namespace, a definition with a rule, and in the namespace a resource of it, workloads, and related objects. */
export function churnedObjects(round: number): KubernetesObject[] {
  const name = churnedName(round);
  const group = `${name}.example`;
  const make = (apiVersion: string, kind: string, body: Body): KubernetesObject =>
    ({ apiVersion, kind, metadata: { name, namespace: name }, ...body }) as unknown as KubernetesObject;
  const labels = { app: name };
  const selector = { matchLabels: labels };
  const reads = { name: 'A', valueFrom: { configMapKeyRef: { name, key: name } } };
  const container = { name: 'c', image: 'churned:1', env: [reads] };
  const rbac = 'rbac.authorization.k8s.io';
  return [
    make('v1', 'Namespace', { metadata: { name } }),
    make('apiextensions.k8s.io/v1', 'CustomResourceDefinition', definition(group)),
    make(`${group}/v1`, 'Thing', { spec: { text: 'a' } }),
    make('v1', 'ConfigMap', { data: { [name]: 'a' } }),
    make('v1', 'Secret', { stringData: { [name]: 'a' } }),
    make('v1', 'ServiceAccount', {}),
    make(`${rbac}/v1`, 'Role', { rules: [{ apiGroups: [group], resources: ['things'], verbs: ['get'] }] }),
    make(`${rbac}/v1`, 'RoleBinding', {
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ kind: 'User', apiGroup: rbac, name }],
    }),
    make('v1', 'ResourceQuota', { spec: { hard: { pods: '9', [`count/things.${group}`]: '9' } } }),
    make('v1', 'Service', { spec: { selector: labels, ports: [{ port: 80 }] } }),
    make('apps/v1', 'Deployment', {
      spec: {
        replicas: 2,
        selector,
        template: { metadata: { labels }, spec: { serviceAccountName: name, containers: [container] } },
      },
    }),
    make('batch/v1', 'Job', {
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'ends:1' }] } } },
    }),
    make('policy/v1', 'PodDisruptionBudget', { spec: { minAvailable: 1, selector } }),
    ...namedByClients(name, make),
  ];
}

/** Names that are keys of maps: resources, classes, claims, nodes, users, hosts, policies. */
function namedByClients(
  name: string,
  make: (apiVersion: string, kind: string, body: Body) => KubernetesObject,
): KubernetesObject[] {
  const global = { metadata: { name } };
  const labels = { app: name };
  const resource = `${name}.example/thing`;
  const requests = { cpu: '1m', [resource]: '1' };
  const waits = { name: 'c', image: 'churned:1', resources: { requests, limits: { [resource]: '1' } } };
  const claim = { spec: { devices: { requests: [{ name, exactly: { deviceClassName: name } }] } } };
  const admission = 'admissionregistration.k8s.io/v1';
  return [
    make('scheduling.k8s.io/v1', 'PriorityClass', { ...global, value: 5 }),
    make('storage.k8s.io/v1', 'StorageClass', { ...global, provisioner: `${name}.example` }),
    make('storage.k8s.io/v1', 'CSIDriver', { metadata: { name: `${name}.example` }, spec: {} }),
    make('resource.k8s.io/v1', 'DeviceClass', { ...global, spec: { extendedResourceName: resource } }),
    make('resource.k8s.io/v1', 'ResourceClaim', claim),
    make('resource.k8s.io/v1', 'ResourceClaimTemplate', { spec: claim }),
    make('v1', 'PersistentVolumeClaim', {
      spec: { storageClassName: name, accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    }),
    make('v1', 'Node', {
      metadata: { name, labels },
      status: { allocatable: { [resource]: '1' }, images: [{ names: [`${name}/i:1`], sizeBytes: 5 }] },
    }),
    make('coordination.k8s.io/v1', 'Lease', { spec: { holderIdentity: name } }),
    make('networking.k8s.io/v1', 'NetworkPolicy', { spec: { podSelector: { matchLabels: labels } } }),
    make('networking.k8s.io/v1', 'Ingress', {
      spec: { defaultBackend: { service: { name, port: { number: 80 } } }, rules: [{ host: `${name}.example` }] },
    }),
    make('networking.k8s.io/v1', 'IngressClass', { ...global, spec: { controller: `${name}.example/c` } }),
    make('autoscaling/v2', 'HorizontalPodAutoscaler', {
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
        maxReplicas: 3,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
        ],
      },
    }),
    make('batch/v1', 'CronJob', {
      spec: {
        schedule: '* * * * *',
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'ends:1' }] } } },
        },
      },
    }),
    make('v1', 'LimitRange', { spec: { limits: [{ type: 'Container', max: { [resource]: '5' } }] } }),
    make('v1', 'Pod', {
      metadata: { name: `${name}-waits`, namespace: name },
      spec: { containers: [waits], priorityClassName: name },
    }),
    make('v1', 'Pod', {
      metadata: { name: `${name}-claims`, namespace: name },
      spec: {
        schedulerName: 'default-scheduler',
        containers: [{ name: 'c', image: 'churned:1' }],
        resourceClaims: [
          { name: 'a', resourceClaimName: name },
          { name: 'b', resourceClaimTemplateName: name },
        ],
      },
    }),
    make('apps/v1', 'StatefulSet', {
      metadata: { name: `${name}-set`, namespace: name },
      spec: {
        serviceName: name,
        selector: { matchLabels: { set: name } },
        template: {
          metadata: { labels: { set: name } },
          spec: { containers: [{ name: 'c', image: 'churned:1', volumeMounts: [{ name, mountPath: '/data' }] }] },
        },
        volumeClaimTemplates: [
          {
            metadata: { name },
            spec: {
              storageClassName: name,
              accessModes: ['ReadWriteOnce'],
              resources: { requests: { storage: '1Gi' } },
            },
          },
        ],
      },
    }),
    make('apps/v1', 'DaemonSet', {
      metadata: { name: `${name}-daemon`, namespace: name },
      spec: {
        selector: { matchLabels: { daemon: name } },
        template: { metadata: { labels: { daemon: name } }, spec: { containers: [{ name: 'c', image: 'churned:1' }] } },
      },
    }),
    make(admission, 'ValidatingAdmissionPolicy', {
      ...global,
      spec: {
        failurePolicy: 'Ignore',
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        },
        validations: [{ expression: `object.metadata.name != '${name}-x'` }],
      },
    }),
    make(admission, 'ValidatingAdmissionPolicyBinding', {
      ...global,
      spec: { policyName: name, validationActions: ['Deny'] },
    }),
    make(admission, 'ValidatingWebhookConfiguration', {
      ...global,
      webhooks: [
        {
          name: `${name}.example.com`,
          failurePolicy: 'Ignore',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          clientConfig: { url: `https://${name}.invalid/` },
          rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        },
      ],
    }),
  ];
}

/** Objects without a namespace, by resource, that a round deletes. */
export const GLOBAL_RESOURCES = [
  '/apis/scheduling.k8s.io/v1/priorityclasses/NAME',
  '/apis/storage.k8s.io/v1/storageclasses/NAME',
  '/apis/storage.k8s.io/v1/csidrivers/NAME.example',
  '/apis/resource.k8s.io/v1/deviceclasses/NAME',
  '/api/v1/nodes/NAME',
  '/apis/networking.k8s.io/v1/ingressclasses/NAME',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/NAME',
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/NAME',
  '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/NAME',
];

function definition(group: string): Body {
  const rules = [{ rule: '!has(self.text) || self.text.size() < 9' }];
  const spec = {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 9 } },
    'x-kubernetes-validations': rules,
  };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' };
  return {
    metadata: { name: `things.${group}` },
    spec: { group, scope: 'Namespaced', names, versions: [{ name: 'v1', served: true, storage: true, schema }] },
  };
}
