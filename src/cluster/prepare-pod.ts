/** Defaults and validates a pod that comes from a file or URL, exactly as the API server would. */
import type { Pod } from '../api/gen/core-v1.ts';
import { setPodDefaults } from '../api/defaults/pod.ts';
import { validatePod } from '../api/validation/pod-update.ts';

/** Returns the completed pod; throws with all complaints in one line. */
export function preparePod(pod: Pod): Pod {
  const draft = structuredClone(pod);
  setPodDefaults(draft);
  const complaints = validatePod(draft);
  if (complaints.length > 0) throw new Error(complaints.map((c) => `${c.field}: ${c.text}`).join(', '));
  return draft;
}
