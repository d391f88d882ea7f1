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
  ];
}

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
