/** Columns of apps resources in `kubectl get`. Upstream: printers/internalversion. */
import type { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../../../api/gen/apps-v1.ts';
import {
  ageCell,
  ageColumn,
  column,
  containerCells,
  containerColumns,
  formatLabels,
  formatSelectorCell,
  integerColumn,
  printerOf,
  wide,
} from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

const selectorColumn = wide(column('Selector'));

export const deploymentPrinter: Printer<Deployment> = printerOf(
  [column('Ready'), column('Up-to-date'), column('Available'), ageColumn, ...containerColumns, selectorColumn],
  (deployment, nowMs) => {
    const { spec, status } = deployment;
    return [
      `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
      status?.updatedReplicas ?? 0,
      status?.availableReplicas ?? 0,
      ageCell(deployment, nowMs),
      ...containerCells(spec?.template?.spec),
      formatSelectorCell(spec?.selector),
    ];
  },
);

export const replicaSetPrinter: Printer<ReplicaSet> = printerOf(
  [
    integerColumn('Desired'),
    integerColumn('Current'),
    integerColumn('Ready'),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  (replicaSet, nowMs) => {
    const { spec, status } = replicaSet;
    return [
      spec?.replicas ?? 0,
      status?.replicas ?? 0,
      status?.readyReplicas ?? 0,
      ageCell(replicaSet, nowMs),
      ...containerCells(spec?.template?.spec),
      formatSelectorCell(spec?.selector),
    ];
  },
);

export const daemonSetPrinter: Printer<DaemonSet> = printerOf(
  [
    ...['Desired', 'Current', 'Ready', 'Up-to-date', 'Available'].map(integerColumn),
    column('Node Selector'),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  (daemonSet, nowMs) => {
    const { spec, status } = daemonSet;
    return [
      status?.desiredNumberScheduled ?? 0,
      status?.currentNumberScheduled ?? 0,
      status?.numberReady ?? 0,
      status?.updatedNumberScheduled ?? 0,
      status?.numberAvailable ?? 0,
      formatLabels(spec?.template?.spec?.nodeSelector),
      ageCell(daemonSet, nowMs),
      ...containerCells(spec?.template?.spec),
      formatSelectorCell(spec?.selector),
    ];
  },
);

export const statefulSetPrinter: Printer<StatefulSet> = printerOf(
  [column('Ready'), ageColumn, ...containerColumns],
  (statefulSet, nowMs) => [
    `${statefulSet.status?.readyReplicas ?? 0}/${statefulSet.spec?.replicas ?? 0}`,
    ageCell(statefulSet, nowMs),
    ...containerCells(statefulSet.spec?.template?.spec),
  ],
);

export const controllerRevisionPrinter: Printer<ControllerRevision> = printerOf(
  [column('Controller'), column('Revision'), ageColumn],
  (revision, nowMs) => {
    const owner = (revision.metadata.ownerReferences ?? []).find((reference) => reference.controller === true);
    const group = owner?.apiVersion.includes('/') === true ? `.${owner.apiVersion.split('/')[0]}` : '';
    return [
      owner === undefined ? '<none>' : `${owner.kind.toLowerCase()}${group}/${owner.name}`,
      revision.revision,
      ageCell(revision, nowMs),
    ];
  },
);
