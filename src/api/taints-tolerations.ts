/** Whether tolerations bear taints. Upstream: component-helpers/scheduling/corev1, api/core/v1 toleration.go. */
import type { Taint, Toleration } from './gen/core-v1.ts';

/** Orders two integer texts; undefined when either is none. */
function compareIntegers(a: string, b: string): number | undefined {
  if (!/^(0|-?[1-9]\d*)$/.test(a) || !/^(0|-?[1-9]\d*)$/.test(b)) return undefined;
  const left = BigInt(a);
  const right = BigInt(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether one toleration bears one taint. Empty effect or key (with Exists) bear all. */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  const { effect = '', key = '', operator = '', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
      return (compareIntegers(taint.value ?? '', value) ?? 0) < 0;
    case 'Gt':
      return (compareIntegers(taint.value ?? '', value) ?? 0) > 0;
    default:
      return false;
  }
}

/** Whether any of the tolerations bears the taint. */
export function tolerationsTolerateTaint(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => toleratesTaint(toleration, taint));
}

/** The first taint among those `concerns` selects that nothing bears. */
export function findUntoleratedTaint(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
  concerns: (taint: Taint) => boolean = () => true,
): Taint | undefined {
  return taints.find((taint) => concerns(taint) && !tolerationsTolerateTaint(tolerations, taint));
}
