/** Values as errors show them. Upstream: Go's %v of cel-go's values and of their contents. */
import { copyWork, walkWork } from '../meter.ts';
import { Type } from '../types/type.ts';
import { dateText, durationText } from './go-times.ts';
import {
  Duration,
  isCelObject,
  isMapValue,
  type MapValue,
  mapEntries,
  Optional,
  Timestamp,
  TO_JSON,
  Uint,
} from './values.ts';

/** The text of a value: `foo`, `5`, `[1, 2]`. */
export function valueText(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : notFiniteText(value);
  if (value === null) return '0';
  return typeof value === 'object' ? objectText(value) : String(value);
}

function notFiniteText(value: number): string {
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function objectText(value: object): string {
  if (value instanceof Uint) return String(value.value);
  if (Array.isArray(value)) return `[${listed(value, valueText)}]`;
  if (value instanceof Uint8Array) return `[${listed([...value], String, ' ')}]`;
  if (isMapValue(value)) return `{${listed([...mapEntries(value as MapValue)], entryText)}}`;
  if (value instanceof Duration) return durationText(value);
  if (value instanceof Timestamp) return dateText(value);
  if (value instanceof Optional) return value.hasValue ? `optional(${valueText(value.content)})` : 'optional.none()';
  if (value instanceof Type) return value.name;
  return isCelObject(value) ? String(value[TO_JSON]()) : String(value);
}

function entryText([key, value]: readonly [unknown, unknown]): string {
  return `${valueText(key)}: ${valueText(value)}`;
}

/** An element that occurs several times is written several times; each is charged before it is written. */
function listed<T>(items: readonly T[], textOf: (item: T) => string, separator = ', '): string {
  walkWork(items.length);
  const texts = items.map((item) => textOf(item));
  copyWork(texts.reduce((sum, text) => sum + text.length, 0));
  return texts.join(separator);
}
