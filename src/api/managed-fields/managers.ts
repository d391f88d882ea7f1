// Converts metadata.managedFields to a table of managers and back, with upstream's identities and order. Upstream:
// apimachinery/pkg/util/managedfields/internal (managedfields.go, capmanagers.go, stripmeta.go).

import type { FieldsV1, ManagedFieldsEntry } from '../gen/meta-v1.ts';
import { difference, fieldsOf, unionAll, type FieldSet } from './field-set.ts';
import { readFieldsV1 } from './fields-v1.ts';
import { withSharedParts } from './shared-field-sets.ts';
import { compareTexts } from '../../base/compare-texts.ts';

/** A field manager, its fields, and the time of its last change. */
export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Managers by identity. Entries are replaced, never changed in place. */
export type Managers = Map<string, Manager>;

/** As upstream, older updaters are merged into one. */
const MAX_UPDATE_MANAGERS = 10;
const ANCIENT = 'ancient-changes';

/** An applier is one manager for all versions; an updater is one manager per version. */
export function identityOf(m: Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>): string {
  return `${m.operation}\0${m.subresource}\0${m.operation === 'Apply' ? '' : m.apiVersion}\0${m.manager}`;
}

/** Reads the entries; undefined when one is malformed. Upstream: DecodeManagedFields. */
export function readManagers(entries: readonly ManagedFieldsEntry[]): Managers | undefined {
  const out: Managers = new Map();
  for (const entry of entries) {
    const { operation, apiVersion = '', fieldsType } = entry;
    if ((operation !== 'Apply' && operation !== 'Update') || apiVersion === '' || fieldsType !== 'FieldsV1')
      return undefined;
    const fields = readFieldsV1(entry.fieldsV1);
    if (fields === 'malformed') return undefined;
    const m: Manager = {
      manager: entry.manager ?? '',
      operation,
      apiVersion,
      subresource: entry.subresource ?? '',
      time: entry.time ?? undefined,
      fields: fields.set,
    };
    out.set(identityOf(m), m);
  }
  return out;
}

/** Writes the entries: appliers first, then by time, name, version and sub-resource. Managers without fields are left out. */
export function writeManagers(managers: Managers): ManagedFieldsEntry[] {
  const all = [...capped(managers).values()].filter((m) => m.fields !== undefined);
  all.sort(
    (a, b) =>
      compareTexts(a.operation, b.operation) ||
      compareTexts(a.time ?? '', b.time ?? '') ||
      compareTexts(a.manager, b.manager) ||
      compareTexts(a.apiVersion, b.apiVersion) ||
      compareTexts(a.subresource, b.subresource),
  );
  return all.map(entryOf);
}

/** The entry of a manager that owns fields. */
export function entryOf(m: Manager): ManagedFieldsEntry {
  return {
    ...(m.manager === '' ? {} : { manager: m.manager }),
    operation: m.operation,
    apiVersion: m.apiVersion,
    ...(m.time === undefined ? {} : { time: m.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: withSharedParts(identityOf(m), m.fields!) as FieldsV1,
    ...(m.subresource === '' ? {} : { subresource: m.subresource }),
  };
}

/** Merges the oldest updaters into `ancient-changes` when there are too many. */
function capped(managers: Managers): Managers {
  if (managers.size <= MAX_UPDATE_MANAGERS) return managers;
  const updaters = [...managers].filter(([, m]) => m.operation === 'Update' && m.subresource === '');
  if (updaters.length <= MAX_UPDATE_MANAGERS) return managers;
  const out: Managers = new Map(managers);
  updaters.sort(([, a], [, b]) => compareTexts(a.time ?? '', b.time ?? '') || compareTexts(a.manager, b.manager));
  const buckets = new Map<string, Manager[]>();
  for (const [id, m] of updaters.slice(0, updaters.length - MAX_UPDATE_MANAGERS + 1)) {
    out.delete(id);
    const bucket = { ...m, manager: ANCIENT };
    const bucketId = identityOf(bucket);
    const existing = buckets.get(bucketId);
    if (existing === undefined) buckets.set(bucketId, [bucket]);
    else existing.push(bucket);
  }
  for (const [id, merged] of buckets) {
    const before = out.get(id)?.fields;
    out.set(id, { ...merged.at(-1)!, fields: unionAll([before, ...merged.map(({ fields }) => fields)]) });
  }
  return out;
}

/** Fields that every object has and that are never owned. */
const metadataFields = fieldsOf(
  'apiVersion',
  'kind',
  'metadata',
  'metadata.name',
  'metadata.namespace',
  'metadata.creationTimestamp',
  'metadata.selfLink',
  'metadata.uid',
  'metadata.clusterName',
  'metadata.generation',
  'metadata.managedFields',
  'metadata.resourceVersion',
);

/** The set without the fields that are never owned. */
export function withoutMetadata(set: FieldSet): FieldSet {
  return difference(set, metadataFields);
}
