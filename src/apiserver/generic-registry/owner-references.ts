/** Removes duplicate owner references, with a warning. Upstream: dedupOwnerReferencesAndAddWarning. */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { RequestContext } from '../request-context.ts';

const REST =
  'API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed:';

/** Whether the request or mutating admission added the duplicate. */
export type DuplicatesOf = 'request' | 'admission';

/** Changes the draft. */
export function dropDuplicateOwners(draft: KubernetesObject, from: DuplicatesOf, context: RequestContext): void {
  const references = draft.metadata.ownerReferences ?? [];
  if (references.length < 2) return;
  const kept = new Set<string>();
  const duplicates: string[] = [];
  const unique = references.filter((reference) => {
    const text = textOf(reference);
    if (kept.has(text)) {
      duplicates.push(reference.uid);
      return false;
    }
    kept.add(text);
    return true;
  });
  if (duplicates.length === 0) return;
  draft.metadata.ownerReferences = unique;
  const what = `.metadata.ownerReferences contains duplicate entries${from === 'admission' ? ' after mutating admission happens' : ''}`;
  context.addWarning(`${what}; ${REST} ${duplicates.join(', ')}`);
}

/** Equal for references that agree in every field. Comparing each with all others would take too long for thousands. */
function textOf({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): string {
  return JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
}
