/** What the projects of the world are written with: objects as their manifests have them, and parts that many share. */

/** An object as it stands in a manifest. */
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

/** What a project installs and what its users make. */
export interface Project {
  readonly name: string;
  readonly namespace: string;
  readonly definitions: readonly Manifest[];
  readonly objects: readonly Manifest[];
  /** Custom objects, in the order in which users make them. */
  readonly samples: readonly Manifest[];
  /** Definitions too large for the annotation of a client-side apply: such a project is installed server-side alone. */
  readonly isLarge?: boolean;
  /** Warnings that upstream gives for these samples. */
  readonly warnings?: RegExp;
}

/** The object of this kind, cluster-scoped where the metadata has no namespace. */
export function manifest(apiVersion: string, kind: string, metadata: Metadata, rest: object = {}): Manifest {
  return { apiVersion, kind, metadata, ...rest };
}

/** All as one `List`, as kubectl reads it from standard input. */
export function listOf(items: readonly Manifest[]): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

/** A namespace with labels, as projects ship their own. */
export function namespaceOf(name: string, labels: Readonly<Record<string, string>> = {}): Manifest {
  return manifest('v1', 'Namespace', { name, labels: { 'app.kubernetes.io/part-of': name, ...labels } });
}

/** A service account with the role and the binding that give it everything of a group. */
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

/** A service in front of such a workload. */
export function serviceOf(name: string, namespace: string, spec: object = {}): Manifest {
  const selector = { 'app.kubernetes.io/name': name };
  const ports = [{ name: 'https', port: 443, targetPort: 9443 }];
  return manifest('v1', 'Service', { name, namespace }, { spec: { selector, ports, ...spec } });
}
