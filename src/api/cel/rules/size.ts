/**
 * How large values of a schema may be, for cost estimates: as the schema limits them, or as much as a request can carry.
 * Upstream: apiserver/pkg/cel/common/schemas.go and maps of MaxElements in cel.DeclType.
 */
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';

/** Bytes of a request, upstream's estimate for limits that are not given. */
const MAX_REQUEST_BYTES = 3 * 1024 * 1024;

/** Largest number of characters, items or entries, and the sizes of what is inside. */
export interface Size {
  readonly max: number;
  readonly items?: Size;
  readonly fields?: ReadonlyMap<string, Size>;
}

/** A number, a boolean. */
export const SCALAR_SIZE: Size = { max: 1 };
/** A value nothing is known about. */
export const UNKNOWN_SIZE: Size = { max: MAX_REQUEST_BYTES };

/** Size of texts. */
export function textSize(props: JSONSchemaProps): Size {
  if (props.enum !== undefined) return { max: Math.max(0, ...props.enum.map((value) => String(value).length)) };
  if (props.maxLength !== undefined) return { max: Math.max(0, props.maxLength) * 4 };
  switch (props.format) {
    case 'duration':
      return { max: 34 };
    case 'date':
      return { max: 10 };
    case 'date-time':
      return { max: 35 };
    default:
      return { max: MAX_REQUEST_BYTES - 2 };
  }
}

/** Largest number of items of a list. */
export function maxItems(props: JSONSchemaProps, items: JSONSchemaProps | undefined): number {
  return props.maxItems ?? Math.floor((MAX_REQUEST_BYTES - 2) / (minBytes(items) + 1));
}

/** Largest number of entries of a map: each has a key of its own, quotes, colon and comma. */
export function maxEntries(props: JSONSchemaProps, values: JSONSchemaProps | undefined): number {
  return props.maxProperties ?? Math.floor((MAX_REQUEST_BYTES - 2) / (minBytes(values) + 6));
}

/** How many values of this schema fit into one request: at most so many may stand where no list or map above is limited. */
export function mostInRequest(props: JSONSchemaProps): number {
  return Math.floor(MAX_REQUEST_BYTES / (minBytes(props) + 1));
}

/** Fewest bytes a value takes in JSON. */
function minBytes(props: JSONSchemaProps | undefined): number {
  switch (props?.type) {
    case 'array':
    case 'string':
      return 2;
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
