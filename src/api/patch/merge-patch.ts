// JSON merge patch (RFC 7386): null removes, objects merge, anything else replaces. As upstream's library (evanphx/json-patch)
// does it, nulls also go from the objects inside a list that replaces anything but an object. Pure: shares what it does not change.

import { isObject, setOwn, type JsonObject } from '../codec/own-property.ts';

/** The document after the patch. Neither argument is changed. */
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

/** Items that are null themselves stay. */
function withoutNulls(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) => (isObject(item) ? mergePatch(undefined, item) : withoutNulls(item)));
}
