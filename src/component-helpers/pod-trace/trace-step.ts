/** Steps of a pod's start as components report them, as JSON between processes. */

/** One step. Times are wall-clock milliseconds with their fraction. */
export interface TraceStep {
  /** The index of the step that contains this one. */
  readonly parent?: number | undefined;
  readonly name: string;
  readonly startMs: number;
  /** Absent while the step is in progress. */
  readonly endMs?: number | undefined;
  /** Distinguishes the step: the container, the result, the number of attempts. */
  readonly detail?: string | undefined;
  /** Why it failed. */
  readonly error?: string | undefined;
}

/** The steps of one pod that one component remembers. */
export interface ComponentSteps {
  readonly component: string;
  readonly uid: string;
  /** In the order in which they began. */
  readonly steps: readonly TraceStep[];
  /** How many steps between the first and the last are not in the list. */
  readonly dropped?: number | undefined;
  /** When the component saw the pod ready, or at its end without having been ready. */
  readonly finishedMs?: number | undefined;
}

/** The steps of a pod by namespace and name; undefined: unknown. */
export type StepsOf = (namespace: string, name: string) => ComponentSteps | undefined;

/** The path prefix at which kubelets publish the steps, before `/NAMESPACE/NAME`. */
export const POD_STEPS_ROUTE = 'podSteps';
