/** The differences between two states of an object, field by field. Pure. */
import { getOwn, isObject } from '../../api/codec/own-property.ts';
import { equal } from '../../api/patch/json-patch.ts';
import { type FieldPlace, pathOf } from './field-path.ts';

/** A changed field: its values as shortened JSON; absent where there is no value. */
export interface FieldChange {
  readonly path: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The first changes, and how many there are. */
export interface FieldChanges {
  readonly fields: readonly FieldChange[];
  readonly count: number;
}

type Fields = Readonly<Record<string, unknown>>;

const MAX_FIELDS = 100;
const MAX_TEXT_LENGTH = 80;
/** The server's own fields in metadata, which change with everything else. */
const IGNORED = new Set(['managedFields', 'resourceVersion', 'generation']);
/** The field that identifies the items of a list, by preference. */
const ITEM_KEYS = ['name', 'type', 'uid', 'key', 'containerPort', 'port', 'mountPath', 'ip'];

/** As text: `spec.replicas: 1 → 3`, `spec.paused: added true`. */
export function fieldChangeText({ path, from, to }: FieldChange): string {
  if (from === undefined) return `${path}: added ${to}`;
  return to === undefined ? `${path}: removed ${from}` : `${path}: ${from} → ${to}`;
}

/** How the changes of one response are shown. */
export interface ChangesForm {
  /** Whether only the names of fields are shown. */
  readonly hidesValues: boolean;
  /** The remaining characters for paths and values in the response; decreases. */
  readonly room?: { characters: number } | undefined;
}

/** The changes from one state to another; undefined for a missing state. */
export function fieldChanges(before: object | undefined, after: object | undefined, form: ChangesForm): FieldChanges {
  const collector = new Collector(form);
  if (before !== undefined && after !== undefined) collector.compare(undefined, before, after);
  return { fields: collector.fields, count: collector.count };
}

/** The field that identifies the items of both lists; undefined: only their indices do. */
function itemKeyOf(lists: readonly (readonly unknown[])[]): string | undefined {
  return ITEM_KEYS.find((key) =>
    lists.every((list) => {
      const values = list.map((item) => (isObject(item) ? item[key] : undefined));
      return values.every((value) => value !== undefined && !isObject(value)) && new Set(values).size === values.length;
    }),
  );
}

class Collector {
  readonly fields: FieldChange[] = [];
  count = 0;
  readonly #form: ChangesForm;

  constructor(form: ChangesForm) {
    this.#form = form;
  }

  compare(place: FieldPlace | undefined, before: unknown, after: unknown): void {
    if (before === after) return;
    if (isObject(before) && isObject(after)) this.#compareFields(place, before, after);
    else if (Array.isArray(before) && Array.isArray(after)) this.#compareLists(place, before, after);
    else if (!equal(before, after)) this.#add(place, before, after);
  }

  #compareFields(parent: FieldPlace | undefined, before: Fields, after: Fields): void {
    const isMetadata = parent?.name === 'metadata' && parent.parent === undefined;
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      if (!isMetadata || !IGNORED.has(name)) this.compare({ parent, name }, getOwn(before, name), getOwn(after, name));
  }

  #compareLists(parent: FieldPlace | undefined, before: readonly unknown[], after: readonly unknown[]): void {
    const key = before.length + after.length === 0 ? undefined : itemKeyOf([before, after]);
    if (key === undefined) {
      for (let index = 0; index < Math.max(before.length, after.length); index++)
        this.compare({ parent, item: index }, before[index], after[index]);
      return;
    }
    const byKey = (list: readonly unknown[]) => new Map(list.map((item) => [(item as Fields)[key], item]));
    const [left, right] = [byKey(before), byKey(after)];
    for (const value of new Set([...left.keys(), ...right.keys()]))
      this.compare({ parent, key, item: value }, left.get(value), right.get(value));
  }

  #add(place: FieldPlace | undefined, before: unknown, after: unknown): void {
    this.count++;
    const { room } = this.#form;
    if (this.fields.length >= MAX_FIELDS || (room !== undefined && room.characters <= 0)) return;
    const path = pathOf(place);
    const from = before === undefined ? undefined : this.#textOf(before);
    const to = after === undefined ? undefined : this.#textOf(after);
    if (room !== undefined) room.characters -= path.length + (from?.length ?? 0) + (to?.length ?? 0);
    this.fields.push({ path, from, to });
  }

  #textOf(value: unknown): string {
    if (this.#form.hidesValues) return '(hidden)';
    if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[…]' : '{…}';
    const text = JSON.stringify(typeof value === 'string' ? value.slice(0, MAX_TEXT_LENGTH + 1) : value);
    return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  }
}
