import type { KubernetesObject } from '../api/object.ts';

/** A wait that ended without what was waited for. Its message shows the object, its pods and its events. */
export class WaitError extends Error {
  /** The object when time was up; undefined when it was not there. */
  readonly object: KubernetesObject | undefined;
  constructor(message: string, object: KubernetesObject | undefined, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WaitError';
    this.object = object;
  }
}
