/** What would help against the refusals of the nearest nodes. Pure. */
import { refusals, type NodeVerdict } from '../../component-helpers/pod-why.ts';
import type { Cure } from '../explanation.ts';
import { PLUGIN_CURES } from './plugin-cures.ts';

/**
 * Every node is a way of its own: all that refuses it has to go. Nodes that the pod excludes are none while it has a choice among others. `first` is the plugin that refused the nearest node, or the pod
 * before any node was looked at.
 */
export function refusalCure(nodes: readonly NodeVerdict[], first: string | undefined, namespace: string): Cure {
  const [nearest] = nodes;
  const command = PLUGIN_CURES[first ?? '']?.command?.(nearest?.name ?? '', namespace);
  const chosen = nodes.filter((node) => !isExcludedByPod(node));
  const open = chosen.length === 0 ? nodes : chosen;
  const ways = open.filter((node) => !open.some((other) => isHarder(node, other))).map(wayOf);
  const texts = new Set(ways.map(({ text }) => text));
  const [only] = texts;
  const text =
    nearest === undefined
      ? (PLUGIN_CURES[first ?? '']?.text ?? 'see to what the message names')
      : texts.size === 1
        ? only!
        : ways.map((way) => `${way.name}: ${way.text}`).join('; ');
  return { text, command };
}

/** Whether the pod's own choice of nodes leaves it out. */
function isExcludedByPod(node: NodeVerdict): boolean {
  return refusals(node).some(({ name }) => name === 'NodeAffinity' || name === 'NodeName');
}

/** Whether the other is refused by some of the same plugins alone: this one is no way of its own. */
function isHarder(node: NodeVerdict, other: NodeVerdict): boolean {
  const names = new Set(refusals(node).map(({ name }) => name));
  const others = new Set(refusals(other).map(({ name }) => name));
  return others.size < names.size && others.isSubsetOf(names);
}

function wayOf(node: NodeVerdict): { readonly name: string; readonly text: string } {
  return { name: node.name, text: textOf(node) };
}

function textOf(node: NodeVerdict): string {
  const names = refusals(node).map(({ name }) => name);
  // A cordoned node has a taint that says the same.
  const relevant = names.includes('NodeUnschedulable') ? names.filter((name) => name !== 'TaintToleration') : names;
  return [...new Set(relevant.map((name) => PLUGIN_CURES[name]?.text ?? `see what ${name} asks for`))].join(', and ');
}
