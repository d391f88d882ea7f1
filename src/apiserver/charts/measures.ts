/** What is sampled of nodes, pods and workloads, in the order of a ring. */

export const CPU = 0;
export const MEMORY = 1;
export const RECEIVED = 2;
export const SENT = 3;
export const RESTARTS = 4;
export const MEASURES = 5;

/** Cores, bytes, bytes a second twice, restarts since the sample before. `NaN` for what is not known. */
export type Values = readonly number[];

/** Adds measure by measure; a measure that one side alone knows counts as that side has it. */
export function sumOf(a: Values, b: Values): Values {
  return a.map((value, measure) => {
    const other = b[measure]!;
    return Number.isNaN(value) ? other : Number.isNaN(other) ? value : value + other;
  });
}

/** A node, a pod or a workload. `kind` is `pods`, `deployments.apps`. */
export interface Subject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}
