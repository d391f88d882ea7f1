/**
 * The place of a field in an object, and its path as text, computed only for places that are shown and bounded in
 * length.
 */

/** A field by its name, or an item of a list by its index or by the value of one of its fields. */
export interface FieldPlace {
  /** Absent: the object itself. */
  readonly parent: FieldPlace | undefined;
  readonly name?: string;
  readonly item?: unknown;
  /** The field whose value `item` is. */
  readonly key?: string;
}

/** Keys of maps may be arbitrarily long. */
const MAX_NAME_LENGTH = 200;
const MAX_PATH_LENGTH = 1000;

export function pathOf(place: FieldPlace | undefined): string {
  const places: FieldPlace[] = [];
  for (let one = place; one !== undefined; one = one.parent) places.push(one);
  let path = '';
  for (const one of places.reverse()) {
    path += stepOf(one, path === '');
    if (path.length > MAX_PATH_LENGTH) return `${path.slice(0, MAX_PATH_LENGTH)}…`;
  }
  return path;
}

function stepOf({ name, key, item }: FieldPlace, isFirst: boolean): string {
  if (name === undefined) return `[${key === undefined ? '' : `${key}=`}${shortened(String(item))}]`;
  const short = shortened(name);
  if (!/^[\w$-]+$/.test(short)) return `[${JSON.stringify(short)}]`;
  return isFirst ? short : `.${short}`;
}

function shortened(text: string): string {
  return text.length > MAX_NAME_LENGTH ? `${text.slice(0, MAX_NAME_LENGTH)}…` : text;
}
