/** Which term of affinity a node does not meet, and which running pods it is about. On request only: it looks at every pod. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { MAX_TOLD, podsText } from '../../framework/lack-texts.ts';
import type { Lack } from '../../framework/plugin.ts';
import type { AffinityTerm, TermReader } from './affinity-terms.ts';

/** What keeps the pod from the node. */
export function explainAffinity(
  termsOf: TermReader,
  pod: Stored<Pod>,
  node: NodeInfo,
  snapshot: Snapshot,
): readonly Lack[] {
  const { affinity, antiAffinity } = termsOf(pod);
  const found: string[] = [];
  const isFirst = affinity.every((term) => term.matches(pod)) && !snapshot.nodes.some((one) => has(one, affinity));
  for (const term of affinity) {
    const value = node.node.metadata.labels?.[term.topologyKey];
    if (value === undefined) found.push(`the node has no label ${term.topologyKey}, which podAffinity asks for`);
    else if (!isFirst && !domainOf(term, node, snapshot).some((one) => has(one, affinity)))
      found.push(`no pod that podAffinity asks for (${term.selector.toString()}) runs in ${term.topologyKey}=${value}`);
  }
  for (const term of antiAffinity) {
    const met = domainOf(term, node, snapshot).flatMap((one) => podsOn(one, (other) => term.matches(other)));
    if (met.length > 0) found.push(`podAntiAffinity (${termText(term)}) keeps it away from ${podsText(met)}`);
  }
  for (const [text, pods] of repelling(termsOf, pod, { node, snapshot }))
    found.push(`podAntiAffinity (${text}) of ${podsText(pods)} keeps it away`);
  return found.slice(0, MAX_TOLD).map((what) => ({ what, distance: 1 }));
}

type Placed = { readonly pod: Stored<Pod>; readonly node: string };

/** Running pods whose anti-affinity the pod meets in the domain of the node, by the term. */
function repelling(
  termsOf: TermReader,
  pod: Stored<Pod>,
  { node, snapshot }: { node: NodeInfo; snapshot: Snapshot },
): ReadonlyMap<string, readonly Placed[]> {
  const found = new Map<string, Placed[]>();
  for (const one of snapshot.nodes)
    for (const other of one.podsWithRequiredAntiAffinity.values())
      for (const term of termsOf(other).antiAffinity) {
        if (!isOneDomain(term, node, one) || !term.matches(pod)) continue;
        const text = termText(term);
        const known = found.get(text);
        const placed = { pod: other, node: one.name };
        if (known === undefined) found.set(text, [placed]);
        else known.push(placed);
      }
  return found;
}

function termText({ selector, topologyKey }: AffinityTerm): string {
  return `${selector.toString()} by ${topologyKey}`;
}

function has(node: NodeInfo, terms: readonly AffinityTerm[]): boolean {
  return node.pods.values().some((other) => terms.every((term) => term.matches(other)));
}

function podsOn(node: NodeInfo, matches: (pod: Stored<Pod>) => boolean): readonly Placed[] {
  return node.pods
    .values()
    .filter(matches)
    .map((pod) => ({ pod, node: node.name }))
    .toArray();
}

function domainOf(term: AffinityTerm, node: NodeInfo, { nodes }: Snapshot): readonly NodeInfo[] {
  return nodes.filter((one) => isOneDomain(term, node, one));
}

function isOneDomain({ topologyKey }: AffinityTerm, a: NodeInfo, b: NodeInfo): boolean {
  const value = a.node.metadata.labels?.[topologyKey];
  return value !== undefined && value === b.node.metadata.labels?.[topologyKey];
}
