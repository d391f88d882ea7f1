/** Derives smaller values, to find the smallest one that still shows a difference. */
import { isObject } from '../../src/api/codec/own-property.ts';

/** Every value that is smaller by one part. Fields with the names in `kept` stay. */
export function* smaller(value: unknown, kept: readonly string[]): Iterable<unknown> {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield value.toSpliced(index, 1);
      for (const less of smaller(item, kept)) yield value.with(index, less);
    }
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      const { [key]: _, ...rest } = value;
      if (!kept.includes(key)) yield rest;
      for (const less of smaller(item, kept)) yield { ...value, [key]: less };
    }
  }
}
