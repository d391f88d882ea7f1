/**
 * A shorthand for RBAC rules, so that the bootstrap policy reads as a table: `get,list,watch pods,services` in the core
 * group, `create apps:deployments,apps:deployments/scale` in others, `get /healthz` for paths, `pods#name` for one name.
 * Among the verbs `r` stands for get, list and watch, `w` for all that write, `rw` for both.
 */
import type { PolicyRule } from '../../api/gen/rbac-v1.ts';

/** Parses one line of the shorthand. All resources of one line that share a group become one rule. */
export function rules(...lines: readonly string[]): PolicyRule[] {
  return lines.flatMap(ruleOfLine);
}

function ruleOfLine(line: string): PolicyRule[] {
  const [verbText, targetText] = line.split(' ');
  if (verbText === undefined || targetText === undefined) throw new Error(`malformed bootstrap rule: ${line}`);
  const verbs = [...new Set(verbText.split(',').flatMap((verb) => VERB_SETS[verb] ?? [verb]))];
  const targets = targetText.split(',');
  if (targetText.startsWith('/')) return [{ nonResourceURLs: targets, verbs: [...verbs] }];
  const byGroup = new Map<string, { resources: string[]; names: string[] }>();
  for (const target of targets) {
    const [resourceText, ...names] = target.split('#');
    const colon = (resourceText ?? '').indexOf(':');
    const group = colon < 0 ? '' : expand((resourceText ?? '').slice(0, colon));
    const key = `${group}#${names.join('#')}`;
    const entry = byGroup.get(key) ?? { resources: [], names };
    entry.resources.push((resourceText ?? '').slice(colon + 1));
    byGroup.set(key, entry);
  }
  return [...byGroup].map(([key, { resources, names }]) => ({
    apiGroups: [key.slice(0, key.indexOf('#'))],
    resources,
    verbs: [...verbs],
    ...(names.length === 0 ? {} : { resourceNames: names }),
  }));
}

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const VERB_SETS: Readonly<Record<string, readonly string[]>> = { r: READ, w: WRITE, rw: [...READ, ...WRITE] };

const GROUPS: Readonly<Record<string, string>> = {
  admissionregistration: 'admissionregistration.k8s.io',
  apiextensions: 'apiextensions.k8s.io',
  apiregistration: 'apiregistration.k8s.io',
  authentication: 'authentication.k8s.io',
  authorization: 'authorization.k8s.io',
  certificates: 'certificates.k8s.io',
  coordination: 'coordination.k8s.io',
  discovery: 'discovery.k8s.io',
  events: 'events.k8s.io',
  flowcontrol: 'flowcontrol.apiserver.k8s.io',
  metrics: 'metrics.k8s.io',
  custommetrics: 'custom.metrics.k8s.io',
  externalmetrics: 'external.metrics.k8s.io',
  networking: 'networking.k8s.io',
  node: 'node.k8s.io',
  rbac: 'rbac.authorization.k8s.io',
  resource: 'resource.k8s.io',
  scheduling: 'scheduling.k8s.io',
  storage: 'storage.k8s.io',
  storagemigration: 'storagemigration.k8s.io',
  internal: 'internal.apiserver.k8s.io',
};

function expand(group: string): string {
  return GROUPS[group] ?? group;
}
