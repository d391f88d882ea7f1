/** Texts that say what a node lacks, of limited length. Pure. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { NodeInfo } from '../cache/node-info.ts';

/** The most pods, terms or volumes of one plugin that are listed for one node. */
export const MAX_LISTED = 5;

/** `namespace/name`. */
export function podText({ metadata }: Stored<Pod>): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Counts pods; the text names the first. */
export class CountedPods {
  #first: { readonly pod: Stored<Pod>; readonly node: string } | undefined;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(pod: Stored<Pod>, node: string): void {
    this.#first ??= { pod, node };
    this.#count++;
  }

  /** `pod default/a on node-1`, with the number of further pods; '' for none. */
  toString(): string {
    if (this.#first === undefined) return '';
    const more = this.#count === 1 ? '' : ` and ${this.#count - 1} more`;
    return `pod ${podText(this.#first.pod)} on ${this.#first.node}${more}`;
  }
}

/** The matching pods of the nodes: the first, and how many more. Undefined: none matches. */
export function podsText(nodes: readonly NodeInfo[], matches: (pod: Stored<Pod>) => boolean): string | undefined {
  const counted = new CountedPods();
  for (const { name, pods } of nodes) for (const pod of pods.values()) if (matches(pod)) counted.add(pod, name);
  return counted.count === 0 ? undefined : counted.toString();
}
