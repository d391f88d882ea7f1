/** A step of scenarios: the shape of its value and its action. */
import type { Cluster } from './cluster.ts';
import type { StepContext } from './scenario-expectations.ts';
import { described, type Shape, shapeOf, text, textLike } from './scenario-shape.ts';

export interface StepWord {
  readonly takes: Shape;
  run(context: StepContext, value: unknown): Promise<unknown> | void;
}

/** `takes` has checked that the value is a `T`. */
export function word<T>(
  description: string,
  takes: Shape,
  run: (cluster: Cluster, value: T, context: StepContext) => Promise<unknown> | void,
): StepWord {
  return {
    takes: described(description, takes),
    run: (context, value) => run(context.cluster, value as T, context),
  };
}

export const reference = textLike(/^[^/]+(\/[^/]+){1,2}$/, 'KIND/NAME or KIND/NAMESPACE/NAME');
/** The object of a step. */
export const target = described(
  'A `*` in the name stands for what a controller has drawn: the oldest object that matches and is not being deleted.',
  reference,
);
export const node = described('Name of a node.', text);
export const crashable = textLike(
  /^(apiserver|controllers|scheduler|(node|kubelet)\/.+)$/,
  'apiserver, controllers, scheduler, node/NAME or kubelet/NAME',
);
export const component = textLike(
  /^(apiserver|controllers|scheduler|kubelet\/.+)$/,
  'apiserver, controllers, scheduler or kubelet/NAME',
);
export const caller = textLike(
  /^(all|controllers|scheduler|kubelet(\/.+)?)$/,
  'all, controllers, scheduler, kubelet or kubelet/NAME',
);
export const anyCaller = shapeOf(
  { title: caller.schema['title'], anyOf: [caller.schema, { type: 'null' }] },
  (value, path) => (value === null ? undefined : caller(value, path)),
);
