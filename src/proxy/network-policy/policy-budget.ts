/**
 * Limits the size of one NetworkPolicy. Otherwise whoever may write one in a namespace decides how much every node
 * computes, since each pod of the cluster is compared with each of its selectors. Upstream limits only the size of
 * the request; the network plugin does the rest. Pure.
 */
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/gen/networking-v1.ts';

/** Rules, address blocks, their exceptions, and ports. */
const MAX_POLICY_RANGES = 10_000;
/** Selectors of peers and of the policy's own pods, with their labels, expressions and values. */
const MAX_SELECTOR_PARTS = 2_000;
/** The most references to ports by name. */
export const MAX_NAMED_PORTS = 100;

/** Why the policy is not programmed as written; undefined when it is. */
export function policyExcess({ spec }: NetworkPolicy): string | undefined {
  const rules = [
    ...(spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from ?? [], ports: ports ?? [] })),
    ...(spec?.egress ?? []).map(({ to, ports }) => ({ peers: to ?? [], ports: ports ?? [] })),
  ];
  const count = { ranges: rules.length, parts: 0, named: 0 };
  for (const { peers, ports } of rules) {
    for (const peer of peers) countPeer(peer, count);
    for (const port of ports) countPort(port, count);
  }
  if (isWide(spec?.podSelector)) return `its pod selector has more than ${MAX_SELECTOR_PARTS} labels and values`;
  if (count.ranges > MAX_POLICY_RANGES)
    return `it has ${count.ranges} rules, address blocks, exceptions and ports, more than ${MAX_POLICY_RANGES}`;
  if (count.parts > MAX_SELECTOR_PARTS)
    return `the selectors of its peers have ${count.parts} parts, more than ${MAX_SELECTOR_PARTS}`;
  if (count.named > MAX_NAMED_PORTS) return `it names ${count.named} ports, more than ${MAX_NAMED_PORTS}`;
  return undefined;
}

/** Whether a selector is too large to be compared with every pod. */
export function isWide(selector: LabelSelector | undefined): boolean {
  return selectorParts(selector) > MAX_SELECTOR_PARTS;
}

interface Count {
  ranges: number;
  parts: number;
  named: number;
}

function countPeer({ ipBlock, podSelector, namespaceSelector }: NetworkPolicyPeer, count: Count): void {
  if (ipBlock === undefined) count.parts += 1 + selectorParts(podSelector) + selectorParts(namespaceSelector);
  else count.ranges += 1 + (ipBlock.except?.length ?? 0);
}

function countPort({ port }: NetworkPolicyPort, count: Count): void {
  count.ranges++;
  if (typeof port === 'string') count.named++;
}

function selectorParts(selector: LabelSelector | undefined): number {
  let parts = Object.keys(selector?.matchLabels ?? {}).length;
  for (const { values } of selector?.matchExpressions ?? []) parts += 1 + (values?.length ?? 0);
  return parts;
}
