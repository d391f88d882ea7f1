/** Computes the cure for the nearest nodes' rejections. Pure. */
import { refusals, type NodeVerdict } from '../../component-helpers/pod-why.ts';
import type { Cure } from '../explanation.ts';
import { PLUGIN_CURES } from './plugin-cures.ts';

/**
 * Each node is an alternative, which needs all its rejections removed. Nodes that the pod's own constraints exclude are skipped
 * while there are others. `first` is the plugin that rejected the nearest node, or the pod before any node was filtered.
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

/** Whether the pod's own constraints exclude the node. */
function isExcludedByPod(node: NodeVerdict): boolean {
  return refusals(node).some(({ name }) => name === 'NodeAffinity' || name === 'NodeName');
}

/** Whether the other node's rejecting plugins are a proper subset of this one's, so that this node is no alternative. */
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
  // A cordoned node also has a taint for it, which is reported once.
  const relevant = names.includes('NodeUnschedulable') ? names.filter((name) => name !== 'TaintToleration') : names;
  return [...new Set(relevant.map((name) => PLUGIN_CURES[name]?.text ?? `see what ${name} asks for`))].join(', and ');
}
