/** Words for what a node lacks, and how much of it is told. Pure. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';

/** Pods, terms or volumes of one plugin that are told of one node. */
export const MAX_TOLD = 5;

/** `namespace/name`. */
export function podText({ metadata }: Stored<Pod>): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `pod default/a on node-1`, or that and how many more. */
export function podsText(pods: readonly { readonly pod: Stored<Pod>; readonly node: string }[]): string {
  const [first] = pods;
  if (first === undefined) return 'no pod';
  const more = pods.length === 1 ? '' : ` and ${pods.length - 1} more`;
  return `pod ${podText(first.pod)} on ${first.node}${more}`;
}
