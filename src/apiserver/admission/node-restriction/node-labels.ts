/**
 * The labels that a kubelet may set on its own node. Pure. Upstream: noderestriction.getForbiddenLabels and
 * pkg/kubelet/apis.IsKubeletLabel.
 */

const OWN_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
]);
const OWN_PREFIXES = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const RESTRICTED = 'node-restriction.kubernetes.io';
const RESERVED = ['kubernetes.io', 'k8s.io'];

/** Changed labels that a kubelet may not change, sorted. */
export function forbiddenLabels(
  wanted: Readonly<Record<string, string>>,
  old: Readonly<Record<string, string>>,
): string[] {
  const changed = [...new Set([...Object.keys(wanted), ...Object.keys(old)])].filter((key) => wanted[key] !== old[key]);
  return changed.filter(isForbidden).sort();
}

function isForbidden(key: string): boolean {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? '' : key.slice(0, slash);
  if (isSubdomain(prefix, RESTRICTED)) return true;
  const reserved = RESERVED.some((domain) => isSubdomain(prefix, domain));
  return reserved && !OWN_LABELS.has(key) && !OWN_PREFIXES.some((own) => isSubdomain(prefix, own));
}

function isSubdomain(prefix: string, domain: string): boolean {
  return prefix === domain || prefix.endsWith(`.${domain}`);
}
