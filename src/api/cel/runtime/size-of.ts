/** Sizes of values, for prices. Upstream: traits.Sizer and actualSize of cel-go interpreter/runtimecost.go. */
import { isMapValue, mapSize, Optional } from './values.ts';

/** The property that holds the size of a library type's value. */
export const SIZE: unique symbol = Symbol('size');

/** The number of characters, bytes, items or entries; 1 for all other values. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return runeCount(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (isMapValue(value)) return mapSize(value);
  return SIZE in value ? (value[SIZE] as number) : 1;
}

/** `sizeOf`, which for an optional value is the size of its content. */
export function wideSizeOf(value: unknown): number {
  return value instanceof Optional && value.hasValue ? wideSizeOf(value.content) : sizeOf(value);
}

/** The smaller of two sizes. The longer of two texts is counted only to the length of the shorter. */
export function smallerSizeOf(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') {
    // A character has one or two UTF-16 units.
    if (a.length * 2 <= b.length) return runeCount(a);
    if (b.length * 2 <= a.length) return runeCount(b);
  }
  return Math.min(wideSizeOf(a), wideSizeOf(b));
}

/** The number of characters (Go's runes) of a text. */
export function runeCount(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) count--;
  }
  return count;
}
