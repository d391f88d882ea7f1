/**
 * Maximum sizes of a schema's values, for cost estimates: the schema's limits, or the size of a request. Upstream:
 * apiserver/pkg/cel/common/schemas.go and maps of MaxElements in cel.DeclType.
 */
import type { SizeEstimator } from '../cost/operand.ts';
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import { largest } from '../../../base/lists.ts';

/** The maximum size of a request in bytes: upstream's estimate where a schema sets no limit. */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** The maximum number of characters, items or entries, and the sizes of the elements. */
export interface Size {
  readonly max: number;
  readonly items?: Size;
  readonly fields?: ReadonlyMap<string, Size>;
  /** The size of a map's keys. When it is absent, keys have size 0, as upstream's texts without a limit. */
  readonly keys?: Size;
  /** Any key may be selected like a field. When this is absent, a field that `fields` lacks has an unknown size. */
  readonly hasEveryField?: boolean;
}

/** The size of numbers and booleans; upstream's declared types have none. */
export const SCALAR_SIZE: Size = { max: 0 };
/** The size of a value without a schema. */
export const UNKNOWN_SIZE: Size = { max: MAX_REQUEST_BYTES - 2 };

/** Sizes by path below a value. As upstream, the first name of the path stands for that value, whatever the name is. */
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

/** The maximum number of items of a list. */
export function maxItems(props: JSONSchemaProps, items: JSONSchemaProps | undefined): number {
  return Number(props.maxItems ?? Math.floor((MAX_REQUEST_BYTES - 2) / (minBytes(items) + 1)));
}

/** The maximum number of entries of a map: each entry has at least its key, quotes, colon and comma. */
export function maxEntries(props: JSONSchemaProps, values: JSONSchemaProps | undefined): number {
  return Number(props.maxProperties ?? Math.floor((MAX_REQUEST_BYTES - 2) / (minBytes(values) + 6)));
}

/** The maximum number of values of this schema that fit into one request, used when no enclosing list or map has a limit. */
export function mostInRequest(props: JSONSchemaProps): number {
  return Math.floor(MAX_REQUEST_BYTES / (minBytes(props) + 1));
}

/** The minimum length of a text of each format. Upstream: apiserver/pkg/cel/limits.go. */
const MIN_TEXT_BYTES: Readonly<Record<string, number>> = { duration: 3, date: 12, 'date-time': 21 };

/** The minimum number of bytes of a value in JSON. */
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
