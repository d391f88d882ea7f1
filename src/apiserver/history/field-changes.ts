/** What differs between two states of an object, field by field. Pure. */
import { equal } from '../../api/patch/json-patch.ts';

/** A field that differs: texts of its values as JSON, shortened; absent where there is no value. */
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
/** The server's own book-keeping, which changes with everything else. */
const IGNORED = new Set(['metadata.managedFields', 'metadata.resourceVersion', 'metadata.generation']);
/** What tells the items of a list apart, by preference. */
const ITEM_KEYS = ['name', 'type', 'uid', 'key', 'containerPort', 'port', 'mountPath', 'ip'];

/** The changes from one state to another; undefined: there was, or is, none. `hidesValues`: tells names of fields alone. */
export function fieldChanges(
  before: object | undefined,
  after: object | undefined,
  hidesValues: boolean,
): FieldChanges {
  const found = new Collector(hidesValues);
  if (before !== undefined && after !== undefined) found.compare('', before, after);
  return { fields: found.fields, count: found.count };
}

/** The path of a field below another. */
export function childPath(path: string, name: string): string {
  if (!/^[\w$-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** The field that tells the items of both lists apart; undefined: only their places do. */
export function itemKeyOf(lists: readonly (readonly unknown[])[]): string | undefined {
  return ITEM_KEYS.find((key) =>
    lists.every((list) => {
      const values = list.map((item) => (isFields(item) ? item[key] : undefined));
      return values.every((value) => value !== undefined && !isFields(value)) && new Set(values).size === values.length;
    }),
  );
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

class Collector {
  readonly fields: FieldChange[] = [];
  count = 0;
  readonly #hidesValues: boolean;

  constructor(hidesValues: boolean) {
    this.#hidesValues = hidesValues;
  }

  compare(path: string, before: unknown, after: unknown): void {
    if (before === after || IGNORED.has(path)) return;
    if (isFields(before) && isFields(after)) this.#compareFields(path, before, after);
    else if (Array.isArray(before) && Array.isArray(after)) this.#compareLists(path, before, after);
    else if (!equal(before, after)) this.#add(path, before, after);
  }

  #compareFields(path: string, before: Fields, after: Fields): void {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      this.compare(childPath(path, name), own(before, name), own(after, name));
  }

  #compareLists(path: string, before: readonly unknown[], after: readonly unknown[]): void {
    const key = before.length + after.length === 0 ? undefined : itemKeyOf([before, after]);
    if (key === undefined) {
      for (let index = 0; index < Math.max(before.length, after.length); index++)
        this.compare(`${path}[${index}]`, before[index], after[index]);
      return;
    }
    const byKey = (list: readonly unknown[]) => new Map(list.map((item) => [(item as Fields)[key], item]));
    const [left, right] = [byKey(before), byKey(after)];
    for (const value of new Set([...left.keys(), ...right.keys()]))
      this.compare(`${path}[${key}=${String(value)}]`, left.get(value), right.get(value));
  }

  #add(path: string, before: unknown, after: unknown): void {
    this.count++;
    if (this.fields.length >= MAX_FIELDS) return;
    this.fields.push({
      path,
      from: before === undefined ? undefined : this.#textOf(before),
      to: after === undefined ? undefined : this.#textOf(after),
    });
  }

  #textOf(value: unknown): string {
    if (this.#hidesValues) return '(hidden)';
    if (typeof value === 'object' && value !== null) return Array.isArray(value) ? '[…]' : '{…}';
    const text = JSON.stringify(value);
    return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  }
}

function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}
