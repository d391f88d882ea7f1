/** A GitOps controller: bindings whose subjects have no namespace, and a definition of more than 256 KiB. */
import { definitionOf, largeSpec, objectOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, serviceOf, workload } from '../manifest.ts';

const NAMESPACE = 'gitops';
const GROUP = 'gitops.world.example';
const parts = ['application-controller', 'repository-server', 'notifier', 'dashboard'];

const roleRef = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name });
const rules = [{ apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: ['get', 'list', 'watch'] }];

export const gitops: Project = {
  name: 'gitops',
  namespace: NAMESPACE,
  isLarge: true,
  definitions: [
    definitionOf({
      group: GROUP,
      kind: 'Application',
      versions: [{ name: 'v1alpha1', spec: objectOf({ source: { type: 'string' }, prune: { type: 'boolean' } }) }],
    }),
    definitionOf({ group: GROUP, kind: 'ApplicationSet', versions: [{ name: 'v1alpha1', spec: largeSpec(5, 3) }] }),
  ],
  objects: [
    namespaceOf(NAMESPACE),
    ...parts.flatMap((name) => [
      ...accountWithRole(name, NAMESPACE, GROUP),
      manifest('rbac.authorization.k8s.io/v1', 'Role', { name, namespace: NAMESPACE }, { rules }),
      manifest(
        'rbac.authorization.k8s.io/v1',
        'RoleBinding',
        { name, namespace: NAMESPACE },
        { roleRef: roleRef(name), subjects: [{ kind: 'ServiceAccount', name }] },
      ),
      serviceOf(name, NAMESPACE),
      workload(name === 'application-controller' ? 'StatefulSet' : 'Deployment', { name, namespace: NAMESPACE }),
    ]),
    manifest('v1', 'Secret', { name: 'admin', namespace: NAMESPACE }, { type: 'Opaque' }),
    manifest('v1', 'ConfigMap', { name: 'settings', namespace: NAMESPACE }),
    manifest(
      'networking.k8s.io/v1',
      'NetworkPolicy',
      { name: 'dashboard', namespace: NAMESPACE },
      { spec: { podSelector: {}, ingress: [{}], policyTypes: ['Ingress'] } },
    ),
  ],
  samples: Array.from({ length: 10 }, (_, index) =>
    manifest(
      `${GROUP}/v1alpha1`,
      index % 2 === 0 ? 'Application' : 'ApplicationSet',
      { name: `shop-${index}`, namespace: NAMESPACE, finalizers: ['resources.gitops.world.example'] },
      {
        spec:
          index % 2 === 0
            ? { source: 'https://git.example/shop', prune: true }
            : { group0: { image: 'a:1', limit: index, ports: [{ name: 'a', port: 80 }] } },
      },
    ),
  ),
  warnings: /prefer a domain-qualified finalizer name including a path/,
};
