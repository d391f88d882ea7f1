/**
 * The endpoints of one service port that may take traffic: ready ones, those near enough where the endpoints carry hints,
 * and, when none is ready, those that terminate but still serve. Pure. Upstream: pkg/proxy/topology.go.
 */
import { firstBy } from '../base/first-by.ts';
import type { Endpoint as SliceEndpoint, EndpointPort, EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { ServicePort } from '../api/gen/core-v1.ts';

/** A place that traffic can go to. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** On this node. */
  readonly local: boolean;
  /** False: it terminates and serves only because no other endpoint does. */
  readonly ready: boolean;
}

/** Endpoints by traffic policy. `local` is a part of what is on this node, ready where any is. */
export interface PolicyEndpoints {
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** Addresses of all that serve, chosen or not: flows to them may go on. */
  readonly serving: readonly string[];
}

/** This node, as hints and locality see it. */
export interface NodeView {
  /** Where cluster DNS of our own listens: no service is served there, whenever it was stored. */
  readonly ownDns?: string | undefined;
  readonly name: string;
  readonly zone: string | undefined;
}

interface Candidate extends Endpoint {
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly hints: SliceEndpoint['hints'];
}

const ADDRESS_TYPES = { 4: 'IPv4', 6: 'IPv6' } as const;

/** Chooses the endpoints of a port among the service's slices of one family. */
export function endpointsOfPort(
  port: Pick<ServicePort, 'name' | 'protocol'>,
  slices: readonly EndpointSlice[],
  view: { readonly node: NodeView; readonly family: 4 | 6 },
): PolicyEndpoints {
  const candidates = candidatesOf(port, slices, view);
  const near = nearEnough(candidates, view.node);
  return {
    cluster: readyOrServing(candidates, (c) => near.has(c)),
    local: readyOrServing(
      candidates.filter((c) => c.local),
      () => true,
    ),
    serving: candidates.filter((c) => c.serving).map((c) => c.address),
  };
}

/** Ports by name and protocol: all ports of a service are looked up in its slices. */
const slicePorts = new WeakMap<EndpointSlice, ReadonlyMap<string, EndpointPort>>();

function portsOf(slice: EndpointSlice): ReadonlyMap<string, EndpointPort> {
  let ports = slicePorts.get(slice);
  if (ports === undefined) slicePorts.set(slice, (ports = firstBy(slice.ports ?? [], portKey)));
  return ports;
}

function portKey({ name = '', protocol = 'TCP' }: Pick<ServicePort, 'name' | 'protocol'>): string {
  return `${protocol}/${name}`;
}

function candidatesOf(
  port: Pick<ServicePort, 'name' | 'protocol'>,
  slices: readonly EndpointSlice[],
  view: { node: NodeView; family: 4 | 6 },
): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const slice of slices) {
    if (slice.addressType !== ADDRESS_TYPES[view.family]) continue;
    const target = portsOf(slice).get(portKey(port));
    if (target?.port === undefined) continue;
    for (const endpoint of slice.endpoints ?? []) {
      const address = endpoint.addresses[0];
      if (address === undefined) continue;
      const candidate = toCandidate(endpoint, { address, port: target.port, node: view.node });
      const key = `${address} ${target.port}`;
      // While a slice is split or merged an endpoint may be in two: the better word counts.
      if (found.get(key)?.ready !== true) found.set(key, candidate);
    }
  }
  return [...found.values()];
}

function toCandidate(endpoint: SliceEndpoint, at: { address: string; port: number; node: NodeView }): Candidate {
  const { ready, serving, terminating } = endpoint.conditions ?? {};
  return {
    address: at.address,
    port: at.port,
    local: endpoint.nodeName === at.node.name,
    ready: ready ?? true,
    serving: serving ?? ready ?? true,
    terminating: terminating === true,
    hints: endpoint.hints,
  };
}

function readyOrServing(
  candidates: readonly Candidate[],
  isNear: (candidate: Candidate) => boolean,
): readonly Endpoint[] {
  const ready = candidates.filter((c) => c.ready && isNear(c));
  const chosen = ready.length > 0 ? ready : candidates.filter((c) => c.serving && c.terminating);
  return chosen.map(({ address, port, local, ready: isReady }) => ({ address, port, local, ready: isReady }));
}

/** Hints count only when every ready endpoint has them and at least one is meant for here: on this node, then in this zone. */
function nearEnough(candidates: readonly Candidate[], node: NodeView): ReadonlySet<Candidate> {
  const ready = candidates.filter((c) => c.ready);
  const forNode = ready.filter((c) => c.hints?.forNodes?.some((n) => n.name === node.name) === true);
  if (forNode.length > 0 && ready.every((c) => (c.hints?.forNodes?.length ?? 0) > 0)) return new Set(forNode);
  const forZone = ready.filter(
    (c) => node.zone !== undefined && c.hints?.forZones?.some((z) => z.name === node.zone) === true,
  );
  if (forZone.length > 0 && ready.every((c) => (c.hints?.forZones?.length ?? 0) > 0)) return new Set(forZone);
  return new Set(ready);
}
