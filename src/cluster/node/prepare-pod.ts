/** Defaults and validates a static pod (from a file or URL) as the API server would. */
import { setPodDefaults } from '../../api/defaults/pod.ts';
import { Field } from '../../api/field-error.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { validatePod } from '../../api/validation/pod-update.ts';
import { allSteps } from '../../base/steps.ts';

/** Returns the defaulted pod; throws one line with all validation errors. */
export function preparePod(pod: Pod): Pod {
  const draft = structuredClone(pod);
  setPodDefaults(draft);
  const field = Field.root();
  allSteps(validatePod(draft, field));
  if (field.errors.length > 0) throw new Error(field.errors.map((c) => `${c.field}: ${c.text}`).join(', '));
  return draft;
}
