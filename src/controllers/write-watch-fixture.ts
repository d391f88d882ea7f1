/**
 * Compares every version of every object in a store with the exclusive writes that controllers declare, by the managed fields of
 * each writer. For tests.
 */
import type { FieldsV1, ManagedFieldsEntry } from '../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf } from '../api/resource-info.ts';
import { prefixEnd, type Store, type StoreEvent } from '../storage/store.ts';
import type { ExclusiveWrite, ExclusiveWrites } from './exclusive-write.ts';

/** The observed violations and writes. */
export interface WriteWatch {
  /** One line per write that was another's to do. */
  readonly violations: ReadonlySet<string>;
  /** Statements that came into play: `account resource what`. */
  readonly seen: ReadonlySet<string>;
  stop(): void;
}

/** The managers by role. */
export interface WriteWatchNames {
  /** The manager in managed fields of a controller's account. */
  readonly managerOf: (account: string) => string;
  /** Managers that are users, who may write anything. */
  readonly people: readonly string[];
}

/** Watches from the store's first revision on. */
export function watchWrites(store: Store, all: readonly ExclusiveWrites[], names: WriteWatchNames): WriteWatch {
  const violations = new Set<string>();
  const seen = new Set<string>();
  const watch = store.watch(
    { start: '', end: prefixEnd(''), afterRevision: 0 },
    { onEvents: (events) => events.forEach(note), onError: (error) => violations.add(error.message) },
  );
  function note(event: StoreEvent): void {
    if (event.value === undefined) return;
    const object = JSON.parse(new TextDecoder().decode(event.value)) as KubernetesObject;
    const created = event.createRevision === event.revision;
    for (const { account, writes } of all)
      for (const write of writes) {
        if (!concerns(write, object)) continue;
        const manager = names.managerOf(account);
        for (const [what, writer] of writersOf(write, object, created)) {
          const name = `${account} ${write.resource.resource} ${what}`;
          if (writer === manager) seen.add(name);
          else if (!names.people.includes(writer)) violations.add(`${name}: written by ${writer} at ${event.key}`);
        }
      }
  }
  return { violations, seen, stop: () => watch.stop() };
}

function concerns({ resource, where }: ExclusiveWrite, object: KubernetesObject): boolean {
  return object.kind === resource.kind && object.apiVersion === apiVersionOf(resource) && (where?.(object) ?? true);
}

/** The managers that made the write: pairs of write and manager. */
function* writersOf(write: ExclusiveWrite, object: KubernetesObject, created: boolean): Generator<[string, string]> {
  const entries: readonly ManagedFieldsEntry[] = object.metadata.managedFields ?? [];
  for (const { manager = '', fieldsV1 } of entries) {
    if (created && write.creates === true) yield ['creation', manager];
    for (const path of write.fields ?? []) if (sets(fieldsV1, path)) yield [path.join('.'), manager];
  }
}

function sets(fields: FieldsV1 | undefined, path: readonly string[]): boolean {
  let at: unknown = fields;
  for (const name of path) at = (at as Record<string, unknown> | undefined)?.[`f:${name}`];
  return at !== undefined;
}
