/** What tests read in planned snapshots: the data plane's view of them. */
import { allSteps } from '../../base/steps.ts';
import type { Snapshot } from './snapshot.ts';
import { readSnapshot, writeSnapshot, type SnapshotTables } from './snapshot-message.ts';
import type { PlannedListener, SnapshotPlan } from './snapshot-plan.ts';

/** The message that a plan makes. */
export function textOf(plan: SnapshotPlan): string {
  return allSteps(writeSnapshot(plan)).join('');
}

/** The listeners as the data plane gets them. */
export function listenersOf(listeners: readonly PlannedListener[]): Snapshot['listeners'] {
  return readSnapshot(JSON.parse(textOf({ listeners, backends: {} })) as SnapshotTables).listeners;
}
