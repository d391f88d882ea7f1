/** Conditions in the status of objects. Upstream: the IsConditionTrue functions of each kind. */

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export function isConditionTrue({ status }: WithConditions, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
}
