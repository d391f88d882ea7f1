// JSON merge patch (RFC 7386): null removes a field, objects merge, other values replace. As in upstream's library
// (evanphx/json-patch), nulls are also removed from objects in a list, unless the list replaces an object. Pure: unchanged parts
// are shared.

import { isObject, setOwn, type JsonObject } from '../codec/own-property.ts';

/** The document after the patch. The arguments are not changed. */
export function mergePatch(original: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return isObject(original) ? patch : withoutNulls(patch);
  const out: JsonObject = isObject(original) ? { ...original } : {};
  for (const key of Object.keys(patch)) {
    const change = patch[key];
    if (change === null) delete out[key];
    else setOwn(out, key, mergePatch(Object.hasOwn(out, key) ? out[key] : undefined, change));
  }
  return out;
}

/** Items that are null themselves are kept. */
function withoutNulls(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => (isObject(item) ? mergePatch(undefined, item) : withoutNulls(item)));
}
