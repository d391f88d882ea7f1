/**
 * The hash that names the revision of a pod template. Upstream: controller.ComputeHash. Differs on purpose: upstream
 * hashes Go's dump of its structs; we hash the canonical JSON. Both are opaque 32-bit values in the same alphabet.
 */
import { fnv32a, safeEncode } from '../base/fnv.ts';
import { stableStringify } from '../base/stable-json.ts';
import type { PodTemplateSpec } from '../api/gen/core-v1.ts';

/** The hash of a template; a raised `collisionCount` gives another one for the same template. */
export function computePodTemplateHash(template: PodTemplateSpec, collisionCount?: number): string {
  const text = stableStringify(template);
  return safeEncode(fnv32a(collisionCount === undefined ? text : `${text}#${collisionCount}`));
}
