/** Go's names of the types of values, which occur in some of upstream's texts. */
import { Duration, Timestamp, Uint } from './values.ts';

/** Go's name of a value's type: `types.Int`. */
export function goTypeName(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return 'types.String';
    case 'bigint':
      return 'types.Int';
    case 'number':
      return 'types.Double';
    case 'boolean':
      return 'types.Bool';
    default:
      break;
  }
  if (value === null) return 'types.Null';
  if (value instanceof Uint) return 'types.Uint';
  if (value instanceof Uint8Array) return 'types.Bytes';
  if (value instanceof Duration) return 'types.Duration';
  return value instanceof Timestamp ? 'types.Timestamp' : '*types.Optional';
}
