/** One revision of an object as the history's API shows it. */
import type { ManagedFieldsEntry } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { equal } from '../../api/patch/json-patch.ts';
import { formatTime } from '../../api/time.ts';
import type { HistoryChange, HistoryRecord } from '../../storage/history-record.ts';
import { type ChangesForm, type FieldChange, fieldChanges } from './field-changes.ts';

/** Unknown fields are undefined and omitted from the response. */
export interface RevisionEntry {
  readonly revision: string;
  readonly time?: string | undefined;
  readonly change: HistoryChange;
  readonly user?: string | undefined;
  readonly manager?: string | undefined;
  readonly verb?: string | undefined;
  readonly subresource?: string | undefined;
  readonly uid?: string | undefined;
  /** The differences from the revision before, the first hundred fields; fewer in long responses. */
  readonly fields: readonly FieldChange[];
  /** How many fields differ. */
  readonly fieldCount: number;
  /** The reason why its state cannot be read. */
  readonly unreadable?: string | undefined;
}

/** A state with its neighbours: absent where there is none or it is unknown. */
export interface RecordedState {
  readonly record: HistoryRecord;
  readonly object: KubernetesObject | undefined;
  readonly before: KubernetesObject | undefined;
  readonly unreadable?: string | undefined;
}

/**
 * Describes one revision; `room` is what the response has left. Values of Secrets are omitted: readers can request
 * the object.
 */
export function revisionEntry(
  { record, object, before, unreadable }: RecordedState,
  room?: ChangesForm['room'],
): RevisionEntry {
  const { revision, timeMs, change, author } = record;
  const { fields, count } = fieldChanges(before, object, { hidesValues: (object ?? before)?.kind === 'Secret', room });
  const uid = (object ?? before)?.metadata.uid;
  return {
    revision: String(revision),
    time: timeMs > 0 ? formatTime(timeMs) : undefined,
    change,
    ...authorOf(record, { object, before }),
    subresource: author?.subresource || undefined,
    uid,
    fields,
    fieldCount: count,
    unreadable,
  };
}

type Authorship = Pick<RevisionEntry, 'user' | 'manager' | 'verb'>;

/** The author of the change; for changes through another server, what managed fields show. */
function authorOf(
  { author, change }: HistoryRecord,
  { object, before }: Pick<RecordedState, 'object' | 'before'>,
): Authorship {
  const entry = change === 'deleted' ? undefined : changedEntry(object, before);
  const applied = entry?.operation === 'Apply';
  if (author !== undefined) {
    const { user, manager, verb } = author;
    return { user, manager: manager || undefined, verb: verb === 'patch' && applied ? 'apply' : verb };
  }
  if (entry?.manager === undefined || before === undefined) return {};
  return { manager: entry.manager, verb: applied ? 'apply' : undefined };
}

/** The entry of the manager that made the last change, if only one differs. */
function changedEntry(
  object: KubernetesObject | undefined,
  before: KubernetesObject | undefined,
): ManagedFieldsEntry | undefined {
  // An object may have thousands of managers.
  const entriesByManager = Map.groupBy(before?.metadata.managedFields ?? [], managerOf);
  const isKnown = (entry: ManagedFieldsEntry): boolean =>
    entriesByManager.get(managerOf(entry))?.some((other) => equal(entry, other)) === true;
  const changed = (object?.metadata.managedFields ?? []).filter((entry) => !isKnown(entry));
  return changed.length === 1 ? changed[0] : undefined;
}

function managerOf({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  return JSON.stringify([manager, operation, apiVersion, subresource]);
}
