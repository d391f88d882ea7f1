/** AlwaysAdmit and AlwaysDeny: for trials. Upstream: plugin/pkg/admission/{admit,deny}. */
import type { AdmissionPlugin } from '../contract.ts';
import { refusal } from '../refusal.ts';

/** Creates AlwaysAdmit, which has no effect. */
export function createAlwaysAdmit(): AdmissionPlugin {
  return { name: 'AlwaysAdmit', handles: () => false };
}

export function createAlwaysDeny(): AdmissionPlugin {
  return {
    name: 'AlwaysDeny',
    handles: () => true,
    validate(attributes) {
      throw refusal(attributes, 'admission control is denying all modifications');
    },
  };
}
