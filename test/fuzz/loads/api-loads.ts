// Admission, authorization, quotas and the garbage collector. Each list is as long as the API server accepts.
import { times, type Load } from './load.ts';
import { meta, pod, requirement, expressionOf, matchConstraints, configMap } from './parts.ts';

export const apiLoads: readonly Load[] = [
  {
    name: 'roles × bindings',
    *objects() {
      const rules = times(4000, (at) => ({ apiGroups: [`g${at}`], resources: [`r${at}`], verbs: ['get'] }));
      yield { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: meta('r'), rules };
      const subjects = times(4000, (at) => ({ kind: 'ServiceAccount', name: `a${at}`, namespace: 'default' }));
      for (const at of times(50, (n) => n))
        yield {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: meta(`b${at}`),
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' },
          subjects,
        };
    },
  },
  {
    name: 'aggregated roles × selectors',
    *objects() {
      const clusterRoleSelectors = times(3000, (at) => ({ matchExpressions: [requirement(at)] }));
      yield {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'all' },
        aggregationRule: { clusterRoleSelectors },
      };
      for (const at of times(50, (n) => n))
        yield {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRole',
          metadata: { name: `r${at}` },
          rules: times(200, (n) => ({ apiGroups: [''], resources: [`r${n}`], verbs: ['get'] })),
        };
    },
  },
  {
    name: 'validations × parameters',
    *objects() {
      for (const at of times(500, (n) => n)) yield configMap(`p${at}`);
      yield {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name: 'p' },
        spec: {
          paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
          matchConstraints,
          validations: times(900, (at) => ({ expression: expressionOf(at) })),
        },
      };
      for (const at of times(20, (n) => n))
        yield {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicyBinding',
          metadata: { name: `b${at}` },
          spec: {
            policyName: 'p',
            validationActions: ['Deny'],
            paramRef: { selector: {}, namespace: 'default', parameterNotFoundAction: 'Allow' },
          },
        };
    },
    async afterwards(cluster) {
      await cluster.client.raw({
        method: 'POST',
        path: '/api/v1/namespaces/default/configmaps',
        body: { metadata: { name: 'judged' } },
      });
    },
  },
  {
    name: 'policies and their expressions',
    *objects() {
      for (const at of times(20, (n) => n))
        yield {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicy',
          metadata: { name: `p${at}` },
          spec: {
            matchConstraints,
            validations: times(900, (n) => ({ expression: expressionOf(at * 1000 + n) })),
            variables: times(50, (n) => ({ name: `v${n}`, expression: expressionOf(at * 1000 + n) })),
          },
        };
      for (const at of times(20, (n) => n))
        yield {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicyBinding',
          metadata: { name: `b${at}` },
          spec: { policyName: `p${at}`, validationActions: ['Deny'] },
        };
    },
    async afterwards(cluster) {
      await cluster.client.raw({
        method: 'POST',
        path: '/api/v1/namespaces/default/configmaps',
        body: { metadata: { name: 'judged' } },
      });
    },
  },
  {
    name: 'webhooks and their conditions',
    *objects() {
      const webhooks = times(300, (at) => ({
        name: `w${at}.a.io`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Ignore',
        timeoutSeconds: 1,
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: matchConstraints.resourceRules.map(({ apiGroups, apiVersions, operations, resources }) => ({
          apiGroups,
          apiVersions,
          operations,
          resources,
        })),
        matchConditions: times(30, (n) => ({ name: `c${n}`, expression: `object.metadata.name == "n${at}-${n}"` })),
      }));
      yield {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'w' },
        webhooks,
      };
      yield {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata: { name: 'w' },
        webhooks,
      };
    },
    async afterwards(cluster) {
      await cluster.client.raw({
        method: 'POST',
        path: '/api/v1/namespaces/default/configmaps',
        body: { metadata: { name: 'judged' } },
      });
    },
  },
  {
    name: 'owner references × objects',
    *objects() {
      const ownerReferences = times(8000, (at) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: `o${at}`,
        uid: `u${at}`,
      }));
      for (const at of times(10, (n) => n))
        yield configMap(`c${at}`, { ownerReferences, finalizers: ['fuzz.io/keep'] });
    },
  },
  {
    name: 'owner references of unknown kinds',
    *objects() {
      const ownerReferences = times(8000, (at) => ({
        apiVersion: `g${at}.io/v1`,
        kind: `K${at}`,
        name: 'o',
        uid: `u${at}`,
      }));
      for (const at of times(10, (n) => n)) yield configMap(`c${at}`, { ownerReferences });
    },
  },
  {
    name: 'finalizers and managed fields',
    *objects() {
      yield configMap('f', { finalizers: times(30_000, (at) => `fuzz.io/f${at}`) });
      yield configMap('m', {
        managedFields: times(5000, (at) => ({
          manager: `m${at}`,
          operation: 'Update',
          apiVersion: 'v1',
          time: '2026-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:data': { [`f:k${at}`]: {} } },
        })),
      });
      yield configMap('l', {
        labels: Object.fromEntries(times(20_000, (at) => [`l${at}`, 'v'])),
        annotations: Object.fromEntries(times(5000, (at) => [`l${at}`, 'v'])),
      });
    },
    async afterwards(cluster) {
      for (const name of ['f', 'm', 'l'])
        await cluster.client
          .raw({ method: 'DELETE', path: `/api/v1/namespaces/default/configmaps/${name}` })
          .catch(() => undefined);
    },
  },
  {
    name: 'forced applies of one object at once',
    *objects() {
      yield configMap('many', {});
    },
    async afterwards(cluster) {
      const keys = times(2000, (at) => `k${at}`);
      const apply = (manager: string, value: string): Promise<unknown> =>
        cluster.client.raw({
          method: 'PATCH',
          path: `/api/v1/namespaces/default/configmaps/many?fieldManager=${manager}&force=true`,
          headers: { 'content-type': 'application/apply-patch+yaml' },
          body: Buffer.from(
            `{"apiVersion":"v1","kind":"ConfigMap","data":{${keys.map((key) => `"${key}":"${value}"`).join()}}}`,
          ),
        });
      for (const at of times(18, (n) => n)) await apply(`m${at}`, 'same');
      await Promise.all(times(40, (at) => apply(`x${at}`, `v${at}`)));
    },
  },
  {
    name: 'quota scopes × objects',
    *objects() {
      const hard = Object.fromEntries(times(10_000, (at) => [`count/r${at}.g.io`, '5']));
      yield { apiVersion: 'v1', kind: 'ResourceQuota', metadata: meta('q'), spec: { hard } };
      const own = Object.fromEntries(
        times(3000, (at) => [`x${at}.sc.storageclass.storage.k8s.io/requests.storage`, '5']),
      );
      yield { apiVersion: 'v1', kind: 'ResourceQuota', metadata: meta('r'), spec: { hard: own } };
      for (const at of times(20, (n) => n))
        yield {
          apiVersion: 'v1',
          kind: 'ResourceQuota',
          metadata: meta(`s${at}`),
          spec: {
            hard: { pods: '1000' },
            scopeSelector: {
              matchExpressions: times(2000, (n) => ({
                scopeName: 'PriorityClass',
                operator: 'NotIn',
                values: [`c${n}`],
              })),
            },
          },
        };
      for (const at of times(100, (n) => n)) yield pod(`p${at}`);
    },
  },
  {
    name: 'limit ranges × containers',
    *objects() {
      const limits = times(3000, () => ({ type: 'Container', max: { cpu: '4' }, default: { cpu: '1' } }));
      yield { apiVersion: 'v1', kind: 'LimitRange', metadata: meta('l'), spec: { limits } };
      yield pod('p', { containers: times(2000, (at) => ({ name: `c${at}`, image: 'i' })) });
    },
  },
  {
    name: 'pods of a namespace that is deleted',
    *objects() {
      yield { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'full' } };
      for (const at of times(5000, (n) => n))
        yield { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${at}`, namespace: 'full' } };
    },
    async afterwards(cluster) {
      await cluster.client.raw({ method: 'DELETE', path: '/api/v1/namespaces/full' });
    },
  },
];
