import type { KubernetesObject } from '../api/object.ts';

/** The error of a wait whose expectation was not met. Its message shows the object, its pods and its events. */
export class WaitError extends Error {
  /** The object at the timeout; undefined when it did not exist. */
  readonly object: KubernetesObject | undefined;
  constructor(message: string, object: KubernetesObject | undefined, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WaitError';
    this.object = object;
  }
}
