/** Sizes of values, for prices. Upstream: traits.Sizer and actualSize of cel-go interpreter/runtimecost.go. */
import { isMapValue, mapSize, Optional } from './values.ts';

/** Key of the size of values of libraries' types. */
export const SIZE: unique symbol = Symbol('size');

/** Characters, bytes, items or entries; 1 for all else. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return runeCount(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (isMapValue(value)) return mapSize(value);
  return SIZE in value ? (value[SIZE] as number) : 1;
}

/** The same, of optionals that of what is inside. */
export function wideSizeOf(value: unknown): number {
  return value instanceof Optional && value.hasValue ? wideSizeOf(value.content) : sizeOf(value);
}

/** The smaller size of two values: of two texts only as much is counted as the shorter one has. */
export function smallerSizeOf(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') {
    // A character has one unit or two.
    if (a.length * 2 <= b.length) return runeCount(a);
    if (b.length * 2 <= a.length) return runeCount(b);
  }
  return Math.min(wideSizeOf(a), wideSizeOf(b));
}

/** Characters of a text, as Go's runes. */
export function runeCount(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) count--;
  }
  return count;
}
