/**
 * How large values of a schema may be, for cost estimates: as the schema limits them, or as much as a request can carry.
 * Upstream: apiserver/pkg/cel/common/schemas.go and maps of MaxElements in cel.DeclType.
 */
import type { SizeEstimator } from '../cost/operand.ts';
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import { largest } from '../../../base/lists.ts';

/** The largest request in bytes: upstream's estimate where a schema sets no limit. */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** The largest number of characters, items or entries, and the sizes of the elements. */
export interface Size {
  readonly max: number;
  readonly items?: Size;
  readonly fields?: ReadonlyMap<string, Size>;
  /** The size of a map's keys. Absent: 0, as for texts without a limit. */
  readonly keys?: Size;
  /** Any key may be selected like a field. Absent: a field that `fields` lacks has an unknown size. */
  readonly hasEveryField?: boolean;
}

/** The size of numbers and booleans: upstream's declared types have none. */
export const SCALAR_SIZE: Size = { max: 0 };
/** The size of a value without a schema. */
export const UNKNOWN_SIZE: Size = { max: MAX_REQUEST_BYTES - 2 };

/** Sizes by path below a value. As upstream, the path's first name, whatever it is, stands for that value. */
export function sizeBelow(root: Size): SizeEstimator {
  return (path) => {
    let size: Size | undefined = root;
    for (const step of path.slice(1)) {
      size = inside(size, step);
      if (size === undefined) return undefined;
    }
    return { min: 0, max: size.max };
  };
}

function inside({ items, keys, fields, hasEveryField }: Size, step: string): Size | undefined {
  if (step === '@items' || step === '@values') return items;
  if (step === '@keys') return items === undefined ? undefined : (keys ?? SCALAR_SIZE);
  return fields?.get(step) ?? (hasEveryField === true ? items : undefined);
}

export function textSize(props: JSONSchemaProps): Size {
  const longest = props.maxLength === undefined ? undefined : Math.max(0, Number(props.maxLength));
  switch (props.format) {
    case 'byte':
      return { max: longest ?? MAX_REQUEST_BYTES - 2 };
    case 'duration':
      return { max: 32 };
    case 'date':
      return { max: 12 };
    case 'date-time':
      return { max: 32 };
    default:
      // A character takes up to four bytes.
      return { max: longest === undefined ? enumSize(props.enum ?? []) : longest * 4 };
  }
}

function enumSize(values: readonly unknown[]): number {
  if (values.length === 0) return MAX_REQUEST_BYTES - 2;
  return largest(
    values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : 0)),
    0,
  );
}

/** Largest number of items of a list. */
export function maxItems(props: JSONSchemaProps, items: JSONSchemaProps | undefined): number {
  return Number(props.maxItems ?? Math.floor((MAX_REQUEST_BYTES - 2) / (minBytes(items) + 1)));
}

/** Largest number of entries of a map: each has a key of its own, quotes, colon and comma. */
export function maxEntries(props: JSONSchemaProps, values: JSONSchemaProps | undefined): number {
  return Number(props.maxProperties ?? Math.floor((MAX_REQUEST_BYTES - 2) / (minBytes(values) + 6)));
}

/** The most values of this schema that fit into one request: the bound where no list or map above has a limit. */
export function mostInRequest(props: JSONSchemaProps): number {
  return Math.floor(MAX_REQUEST_BYTES / (minBytes(props) + 1));
}

/** The shortest text of each format. Upstream: apiserver/pkg/cel/limits.go. */
const MIN_TEXT_BYTES: Readonly<Record<string, number>> = { duration: 3, date: 12, 'date-time': 21 };

/** The fewest bytes that a value takes in JSON. */
function minBytes(props: JSONSchemaProps | undefined): number {
  switch (props?.type) {
    case 'array':
      return 2;
    case 'string':
      return MIN_TEXT_BYTES[props.format ?? ''] ?? 2;
    case 'boolean':
      return 4;
    case 'object':
      return minObjectBytes(props);
    default:
      return 1;
  }
}

function minObjectBytes(props: JSONSchemaProps): number {
  let bytes = 2;
  for (const name of props.required ?? []) {
    const property = props.properties?.[name];
    if (property !== undefined && property.default === undefined) bytes += name.length + 4 + minBytes(property);
  }
  return bytes;
}
