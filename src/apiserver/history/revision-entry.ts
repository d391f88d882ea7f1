/** One revision of an object as the history's API tells it. */
import type { ManagedFieldsEntry } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { equal } from '../../api/patch/json-patch.ts';
import { formatTime } from '../../api/time.ts';
import type { HistoryChange, HistoryRecord } from '../../storage/history-log.ts';
import { type ChangesForm, type FieldChange, fieldChanges } from './field-changes.ts';

/** Fields that are not known are undefined, and left out of the answer. */
export interface RevisionEntry {
  readonly revision: string;
  readonly time?: string | undefined;
  readonly change: HistoryChange;
  readonly user?: string | undefined;
  readonly manager?: string | undefined;
  readonly verb?: string | undefined;
  readonly subresource?: string | undefined;
  readonly uid?: string | undefined;
  /** What differs from the revision before, the first hundred fields; fewer where the answer is long. */
  readonly fields: readonly FieldChange[];
  /** How many fields differ. */
  readonly fieldCount: number;
  /** Why its state cannot be read. */
  readonly unreadable?: string | undefined;
}

/** A state between its neighbours: absent where there is none, or none is known. */
export interface RecordedState {
  readonly record: HistoryRecord;
  readonly object: KubernetesObject | undefined;
  readonly before: KubernetesObject | undefined;
  readonly unreadable?: string | undefined;
}

/** Tells one revision; `room` is what its answer has left. Values of Secrets are left out: who wants them asks for the object. */
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

/** The entry of the manager who made the last change, if one alone differs. */
function changedEntry(
  object: KubernetesObject | undefined,
  before: KubernetesObject | undefined,
): ManagedFieldsEntry | undefined {
  const known = before?.metadata.managedFields ?? [];
  const changed = (object?.metadata.managedFields ?? []).filter((entry) => !known.some((other) => equal(entry, other)));
  return changed.length === 1 ? changed[0] : undefined;
}
