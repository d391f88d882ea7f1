/**
 * The map and set elements of a service port, or of a pod's host ports. Pure: earlier slots are passed in and new
 * ones returned.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import { hostPortsOf } from '../component-helpers/host-ports.ts';
import {
  type Chain,
  type ChainContext,
  ENDPOINT_MAPS,
  localPolicyChain,
  type ChainTarget,
  endpointChain,
  slotMark,
} from './chains.ts';
import type { Endpoint } from './endpoints.ts';
import type { Protocol, ServicePortView } from './service-map.ts';
import { packedSlots, type Slot, stickySlots } from './slots.ts';

/** The maps and sets whose elements follow objects. */
export type SetName =
  | 'services'
  | 'nodeports'
  | 'endpoints'
  | 'nodeport-endpoints'
  | 'nodeport-addresses'
  | 'hostports'
  | 'hostport-endpoints'
  | 'hostaddresses'
  | 'hostaddress-endpoints'
  | 'no-endpoints'
  | 'no-endpoint-nodeports'
  | 'firewalled'
  | 'allowed-sources'
  | 'hairpin';

/** One element; `value` is '' in a set. `chain`: the chain of the verdict, if it is created on demand. */
export interface Element {
  /** Set and key. */
  readonly id: string;
  readonly set: SetName;
  readonly key: string;
  readonly value: string;
  readonly chain?: Chain;
}

function element(set: SetName, key: string, value: string): Element {
  return { id: `${set} ${key}`, set, key, value };
}

/** Slots of a service port by list. */
export interface PortSlots {
  readonly cluster: readonly Slot[];
  readonly local: readonly Slot[];
}

/** No slots yet. */
export const NO_SLOTS: PortSlots = { cluster: [], local: [] };

/** The verdict for traffic without endpoints. */
const REFUSE = 'goto refuse';
const DROP = 'drop';

/** A destination of traffic for a service port. */
export interface Frontend {
  readonly scope: ChainTarget['scope'];
  /** The beginning of the maps' keys: `10.43.0.1 . tcp . 80` or `tcp . 30080`. */
  readonly key: string;
}

interface PortContext {
  readonly port: ServicePortView;
  readonly slots: PortSlots;
  readonly chains: ChainContext;
}

/** The elements of a service port, and its new slots. */
export function servicePortElements(
  port: ServicePortView,
  previous: PortSlots,
  chains: ChainContext,
): { elements: readonly Element[]; slots: PortSlots } {
  const assign = port.affinitySeconds > 0 ? stickySlots : packedSlots;
  const slots = {
    cluster: assign(previous.cluster, port.cluster.map(endpointKey)),
    local: assign(previous.local, port.local.map(endpointKey)),
  };
  const context = { port, slots, chains };
  const elements: Element[] = [];
  internalElements({ scope: 'address', key: addressKey(port.clusterIp, port) }, context, elements);
  const frontends: Frontend[] = [...port.externalIps, ...port.loadBalancerIps].map((ip) => ({
    scope: 'address',
    key: addressKey(ip, port),
  }));
  if (port.nodePort > 0) frontends.push({ scope: 'node', key: `${port.protocol} . ${port.nodePort}` });
  for (const frontend of frontends) externalElements(frontend, context, elements);
  if (port.sourceRanges.length > 0) firewallElements(port, elements);
  const here = [...port.cluster, ...port.local].filter((endpoint) => endpoint.local);
  for (const address of new Set(here.map((endpoint) => endpoint.address))) elements.push(hairpinOf(address));
  return { elements, slots };
}

function endpointKey(endpoint: Endpoint): string {
  return `${endpoint.address} . ${endpoint.port}`;
}

/** The key of an address and port in a map of the table. */
export function addressKey(ip: string, port: { readonly protocol: Protocol; readonly port: number }): string {
  return `${ip} . ${port.protocol} . ${port.port}`;
}

export function hairpinOf(address: string): Element {
  return element('hairpin', `${address} . ${address}`, '');
}

/** Cluster addresses; a fixed rule of the table masquerades for all of them. */
function internalElements(frontend: Frontend, context: PortContext, into: Element[]): void {
  const { port, slots } = context;
  const wanted = port.internalLocal ? slots.local : slots.cluster;
  if (wanted.length === 0) {
    into.push(unavailable(frontend, port.internalLocal && slots.cluster.length > 0 ? DROP : REFUSE));
    return;
  }
  const pick: ChainTarget = {
    scope: frontend.scope,
    list: 'cluster',
    count: wanted.length,
    affinitySeconds: port.affinitySeconds,
    masquerade: false,
  };
  into.push(verdictElement(frontend, endpointChain(pick, context.chains)));
  pushSlots({ frontend, pick, context }, wanted, into);
}

function externalElements(frontend: Frontend, context: PortContext, into: Element[]): void {
  const { port, slots } = context;
  if (slots.cluster.length === 0 && slots.local.length === 0) {
    into.push(unavailable(frontend, REFUSE));
    return;
  }
  const pick: ChainTarget = {
    scope: frontend.scope,
    list: 'cluster',
    count: slots.cluster.length,
    affinitySeconds: port.affinitySeconds,
    masquerade: true,
  };
  if (!port.externalLocal) {
    into.push(verdictElement(frontend, endpointChain(pick, context.chains)));
    return pushSlots({ frontend, pick, context }, slots.cluster, into);
  }
  const unmasked = { ...pick, masquerade: false };
  into.push(verdictElement(frontend, localPolicyChain(unmasked, slots.local.length, context.chains)));
  pushSlots({ frontend, pick: unmasked, context }, slots.cluster, into);
  pushSlots({ frontend, pick, context }, slots.cluster, into);
  pushSlots({ frontend, pick: { ...unmasked, list: 'local' }, context }, slots.local, into);
}

const VERDICT_MAPS = {
  address: 'services',
  node: 'nodeports',
  host: 'hostports',
  'host-address': 'hostaddresses',
} as const;

export function verdictElement(frontend: Frontend, chain: Chain): Element {
  return { ...element(VERDICT_MAPS[frontend.scope], frontend.key, `goto ${chain.name}`), chain };
}

function unavailable(frontend: Frontend, verdict: string): Element {
  return element(frontend.scope === 'address' ? 'no-endpoints' : 'no-endpoint-nodeports', frontend.key, verdict);
}

/** One element per slot, in the map of the pick's chain. */
function pushSlots(
  { frontend, pick, context }: { frontend: Frontend; pick: ChainTarget; context: PortContext },
  slots: readonly Slot[],
  into: Element[],
): void {
  pushTargets(
    { frontend, pick, chains: context.chains },
    slots.map((slot) => slot.endpoint),
    into,
  );
}

export function pushTargets(
  { frontend, pick, chains }: { frontend: Frontend; pick: ChainTarget; chains: ChainContext },
  targets: readonly string[],
  into: Element[],
): void {
  const set = ENDPOINT_MAPS[frontend.scope];
  for (const [i, to] of targets.entries())
    into.push(element(set, `${frontend.key} . 0x${slotMark(pick, i, chains.mark).toString(16)}`, to));
}

function firewallElements(port: ServicePortView, into: Element[]): void {
  for (const ip of port.loadBalancerIps) {
    const key = addressKey(ip, port);
    into.push(element('firewalled', key, ''));
    for (const range of port.sourceRanges) into.push(element('allowed-sources', `${key} . ${range}`, ''));
  }
}

/** The elements of the address ranges that serve node ports. */
export function nodePortAddressElements(ranges: readonly string[]): readonly Element[] {
  return ranges.map((range) => element('nodeport-addresses', range, ''));
}

/** Whether a pod has a host port of a loopback address of this family. */
export function wantsLoopbackHostPort(pod: Pod, family: 4 | 6): boolean {
  return pod.spec?.hostNetwork !== true && hostPortsOf(pod).some(({ ip }) => isLoopback(ip, family));
}

export function isLoopback(ip: string, family: 4 | 6): boolean {
  return family === 4 ? ip.startsWith('127.') : ip === '::1';
}
