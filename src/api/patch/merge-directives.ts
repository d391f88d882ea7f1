/** The directives of strategic merge patches: $patch, $retainKeys, $deleteFromPrimitiveList, $setElementOrder. */
import { isObject, type JsonObject, setOwn } from '../codec/own-property.ts';
import { goPrint, goTypeName } from '../codec/go-print.ts';
import { PatchError } from './patch-error.ts';

export const DIRECTIVE = '$patch';

export const RETAIN_KEYS = '$retainKeys';

export const DELETE_PREFIX = '$deleteFromPrimitiveList/';

export const ORDER_PREFIX = '$setElementOrder/';

export function unknownType(patch: JsonObject): PatchError {
  const kind = patch[DIRECTIVE];
  const type = goTypeName(kind);
  const shown = typeof kind === 'number' || typeof kind === 'boolean' ? `%!s(${type}=${kind})` : goPrint(kind);
  return new PatchError(500, `unknown patch type: ${shown} in map: ${goPrint(patch)}`);
}

export function withoutKey(object: JsonObject, key: string): JsonObject {
  const out = { ...object };
  delete out[key];
  return out;
}

/** The original without the fields that `$retainKeys` does not list. */
export function retained(original: JsonObject, patch: JsonObject): JsonObject {
  const keep = patch[RETAIN_KEYS];
  if (!Array.isArray(keep)) throw new PatchError(400, 'invalid patch format of retainKeys');
  const names = new Set(keep);
  for (const key of Object.keys(patch)) {
    if (!key.startsWith('$') && patch[key] !== null && !names.has(key))
      throw new PatchError(400, 'invalid patch format of retainKeys');
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => names.has(key)));
}

const isDirective = (key: string): boolean =>
  key === DIRECTIVE || key === RETAIN_KEYS || key.startsWith(ORDER_PREFIX) || key.startsWith(DELETE_PREFIX);

/**
 * A patch value without a counterpart to merge with: objects with a `$patch` are removed. Undefined when the value itself is
 * removed.
 */
export function withoutDirectives(value: unknown, { keepsNulls = false } = {}): unknown {
  if (Array.isArray(value))
    return value.map((item) => withoutDirectives(item, { keepsNulls })).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, DIRECTIVE)) return undefined;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (isDirective(key) || (value[key] === null && !keepsNulls)) continue;
    const inner = withoutDirectives(value[key], { keepsNulls });
    if (inner !== undefined) setOwn(out, key, inner);
  }
  return out;
}

/** A patch value that replaces its counterpart: directives within it have no effect. */
export function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked);
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const key of Object.keys(value)) if (!isDirective(key)) setOwn(out, key, unmarked(value[key]));
  return out;
}
