/** Steps of a pod's start as components report them, each with start and end. They travel between processes as JSON. */

/** One step. Times are wall-clock milliseconds with their fraction. */
export interface TraceStep {
  /** The index of the step that this one is part of. */
  readonly parent?: number | undefined;
  readonly name: string;
  readonly startMs: number;
  /** Absent: it has not ended. */
  readonly endMs?: number | undefined;
  /** What distinguishes it: the container, the result, the number of tries. */
  readonly detail?: string | undefined;
  /** Why it failed. */
  readonly error?: string | undefined;
}

/** What one component remembers of one pod. */
export interface ComponentSteps {
  readonly component: string;
  readonly uid: string;
  /** In the order they began. */
  readonly steps: readonly TraceStep[];
  /** How many steps between the first and the last are not in the list. */
  readonly dropped?: number | undefined;
  /** When the component saw the pod ready, or at its end without having been ready. */
  readonly finishedMs?: number | undefined;
}

/** Answers for a pod by namespace and name; undefined: nothing is remembered of it. */
export type StepsOf = (namespace: string, name: string) => ComponentSteps | undefined;

/** Where kubelets publish the steps, before `/NAMESPACE/NAME`. */
export const POD_STEPS_ROUTE = 'podSteps';
