/** Labels that a node registers with. */
import { UserError } from './usage-error.ts';

/** Reads `key=value` texts. Throws `UserError` with exit code 2. */
export function parseNodeLabels(flag: string, texts: readonly string[]): Record<string, string> {
  const labels = texts.filter((text) => text !== '');
  return Object.fromEntries(
    labels.map((label) => {
      const [key = '', value, extra] = label.split('=');
      if (value === undefined || extra !== undefined)
        throw new UserError(`${flag}: "${label}" is not of the form key=value`, 2);
      checkLabel(flag, key);
      return [key, value];
    }),
  );
}

/** Labels with reserved prefixes that a node may set on itself; upstream and NodeRestriction allow the same. */
const OWN_LABELS = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);

function checkLabel(flag: string, key: string): void {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  const reserved = /(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain);
  const own = /(^|\.)(kubelet\.kubernetes\.io|node\.kubernetes\.io)$/.test(domain);
  if (reserved && !own && !OWN_LABELS.has(key))
    throw new UserError(
      `unknown 'kubernetes.io' or 'k8s.io' labels specified with ${flag}: [${key}]. ${flag} in the 'kubernetes.io' namespace must begin with an allowed prefix (kubelet.kubernetes.io, node.kubernetes.io) or be in the specifically allowed set (${[...OWN_LABELS].sort().join(', ')})`,
      2,
    );
}
