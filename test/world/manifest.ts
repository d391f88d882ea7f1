/** Functions that build the manifests of the world's projects. */

/** An object of a manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly [field: string]: unknown;
}

interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly [field: string]: unknown;
}

/** The objects of a project, and those that its users create. */
export interface Project {
  readonly name: string;
  readonly namespace: string;
  readonly definitions: readonly Manifest[];
  readonly objects: readonly Manifest[];
  /** Custom objects, in the order in which users create them. */
  readonly samples: readonly Manifest[];
  /** Set for definitions too large for the annotation of client-side apply: such a project is only installed server-side. */
  readonly isLarge?: boolean;
  /** Warnings that upstream returns for these samples. */
  readonly warnings?: RegExp;
}

/** An object of this kind, cluster-scoped when the metadata has no namespace. */
export function manifest(apiVersion: string, kind: string, metadata: Metadata, rest: object = {}): Manifest {
  return { apiVersion, kind, metadata, ...rest };
}

/** All objects as one `List`, for kubectl's standard input. */
export function listOf(items: readonly Manifest[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

/** A namespace with labels, as projects ship their own. */
export function namespaceOf(name: string, labels: Readonly<Record<string, string>> = {}): Manifest {
  return manifest('v1', 'Namespace', { name, labels: { 'app.kubernetes.io/part-of': name, ...labels } });
}

/** A service account with the role and the binding that grant it everything of a group. */
export function accountWithRole(name: string, namespace: string, group: string): Manifest[] {
  const rules = [{ apiGroups: [group], resources: ['*'], verbs: ['*'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  return [
    manifest('v1', 'ServiceAccount', { name, namespace }),
    manifest('rbac.authorization.k8s.io/v1', 'ClusterRole', { name }, { rules }),
    manifest('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', { name }, { roleRef, subjects }),
  ];
}

/** A workload of one container, whose pod template may have more. */
export function workload(kind: string, { name, namespace }: Metadata, pod: object = {}): Manifest {
  const labels = { 'app.kubernetes.io/name': name };
  const container = {
    name: 'manager',
    image: `registry.example/${name}:v1`,
    args: ['--leader-elect'],
    resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { memory: '128Mi' } },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
  const template = { metadata: { labels }, spec: { serviceAccountName: name, containers: [container], ...pod } };
  return manifest(
    'apps/v1',
    kind,
    { name, namespace: namespace!, labels },
    { spec: { selector: { matchLabels: labels }, template } },
  );
}

/** A service for such a workload. */
export function serviceOf(name: string, namespace: string, spec: object = {}): Manifest {
  const selector = { 'app.kubernetes.io/name': name };
  const ports = [{ name: 'https', port: 443, targetPort: 9443 }];
  return manifest('v1', 'Service', { name, namespace }, { spec: { selector, ports, ...spec } });
}
