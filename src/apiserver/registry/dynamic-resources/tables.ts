/** Columns of device taints and resource pools in `kubectl get`. Upstream: printers/internalversion. */
import { ageOf } from '../../../api/age.ts';
import type { ResourcePoolStatusRequest } from '../../../api/gen/resource-v1alpha3.ts';
import type { DeviceTaintRule } from '../../../api/gen/resource-v1beta2.ts';
import { ageCell, ageColumn, column, integerColumn, printerOf } from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

export const deviceTaintRulePrinter: Printer<DeviceTaintRule> = printerOf(
  [...['Key', 'Value', 'Effect', 'TimeAdded'].map(column), ageColumn],
  (rule, nowMs) => {
    const { key = '', value = '', effect = '', timeAdded } = rule.spec?.taint ?? {};
    return [key, value, effect, timeAdded === undefined ? '' : ageOf(timeAdded, nowMs), ageCell(rule, nowMs)];
  },
);

const COUNTS = ['totalDevices', 'availableDevices', 'allocatedDevices', 'unavailableDevices'] as const;

/** Sums over the pools; unknown without a status and after a failure. */
function countCells({ status }: ResourcePoolStatusRequest, hasFailed: boolean): string[] {
  if (status === undefined || hasFailed) return ['-', '-', '-', '-', '-'];
  const pools = status.pools ?? [];
  const sums = COUNTS.map((name) => pools.reduce((sum, pool) => sum + (pool[name] ?? 0), 0));
  return [...sums, pools.filter(({ validationError }) => validationError !== undefined).length].map(String);
}

export const resourcePoolStatusRequestPrinter: Printer<ResourcePoolStatusRequest> = printerOf(
  [
    ...['Driver', 'Total', 'Available', 'Allocated', 'Unavailable', 'Errors'].map(column),
    integerColumn('Pools'),
    column('Status'),
    column('Completed'),
  ],
  (request, nowMs) => {
    const { spec, status } = request;
    const ended = (status?.conditions ?? []).find(
      ({ type, status: is }) => is === 'True' && (type === 'Complete' || type === 'Failed'),
    );
    const pools = status?.poolCount ?? 0;
    const listed = (status?.pools ?? []).length;
    const isComplete = ended?.type === 'Complete';
    const isCut = isComplete && pools > listed;
    return [
      spec?.driver ?? '',
      ...countCells(request, ended?.type === 'Failed'),
      pools,
      isCut ? `Complete (${listed}/${pools} pools)` : (ended?.type ?? 'Pending'),
      isComplete ? ageOf(ended?.lastTransitionTime, nowMs) : '<none>',
    ];
  },
);
