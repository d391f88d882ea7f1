/** Reads planned snapshots as the data plane does, for tests. */
import { allSteps } from '../../base/steps.ts';
import type { Snapshot } from './snapshot.ts';
import { readSnapshot, writeSnapshot, type SnapshotTables } from './snapshot-message.ts';
import type { PlannedListener, SnapshotPlan } from './snapshot-plan.ts';

/** The message of a plan. */
export function textOf(plan: SnapshotPlan): string {
  return allSteps(writeSnapshot(plan)).join('');
}

/** The listeners in the data plane's form. */
export function listenersOf(listeners: readonly PlannedListener[]): Snapshot['listeners'] {
  return readSnapshot(JSON.parse(textOf({ listeners, backends: {} })) as SnapshotTables).listeners;
}
