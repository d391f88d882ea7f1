/**
 * The endpoints of a service port that receive traffic: ready ones, restricted by topology hints, and if none is
 * ready, terminating ones that still serve. Pure. Upstream: pkg/proxy/topology.go.
 */
import { firstBy } from '../base/first-by.ts';
import { getOrMake } from '../base/get-or-make.ts';
import { StepMeter, type Steps } from '../base/steps.ts';
import type { Endpoint as SliceEndpoint, EndpointSlice } from '../api/gen/discovery-v1.ts';
import type { ServicePort } from '../api/gen/core-v1.ts';

/** A destination of traffic. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** On this node. */
  readonly local: boolean;
  /** False: it is terminating and used only because no endpoint is ready. */
  readonly ready: boolean;
}

/** Endpoints by traffic policy. `local`: those on this node, ready ones if there are any. */
export interface PolicyEndpoints {
  readonly cluster: readonly Endpoint[];
  readonly local: readonly Endpoint[];
  /** Addresses of all serving endpoints, including unused ones, whose flows may continue. */
  readonly serving: readonly string[];
}

/** The facts about this node that hints and locality depend on. */
export interface NodeView {
  /** The address of Keelson's cluster DNS, which no service may claim. */
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

/** The node, and the most endpoints of each port. */
export interface EndpointsView {
  readonly node: NodeView;
  readonly family: 4 | 6;
  readonly limit?: number;
}

/** A slice's endpoints for one port. */
interface Source {
  readonly slice: EndpointSlice;
  readonly number: number;
}

/** Identifies a port of a service in its slices. */
export function portKey({ name = '', protocol = 'TCP' }: Pick<ServicePort, 'name' | 'protocol'>): string {
  return `${protocol}/${name}`;
}

/** Ports of slices that are looked at in one step. */
export const PORTS_PER_STEP = 5000;

/** The endpoints of a service, indexed by port, since a service may have thousands of ports, slices and endpoints. */
export class ServiceEndpoints {
  readonly #view: EndpointsView;
  readonly #sources = new Map<string, Source[]>();
  readonly #classes = new Map<EndpointSlice, readonly (readonly SliceEndpoint[])[]>();

  constructor(view: EndpointsView) {
    this.#view = view;
  }

  /** Indexes the slices in steps: hundreds of them may have thousands of ports each. */
  static *of(slices: readonly EndpointSlice[], view: EndpointsView): Steps<ServiceEndpoints> {
    const endpoints = new ServiceEndpoints(view);
    const meter = new StepMeter(PORTS_PER_STEP);
    for (const slice of slices) {
      endpoints.#add(slice);
      if (meter.endsStep(1 + (slice.ports ?? []).length)) yield;
    }
    return endpoints;
  }

  #add(slice: EndpointSlice): void {
    if (slice.addressType !== ADDRESS_TYPES[this.#view.family]) return;
    for (const [key, { port }] of firstBy(slice.ports ?? [], portKey))
      if (port !== undefined) getOrMake(this.#sources, key, () => []).push({ slice, number: port });
  }

  /** Chooses the endpoints of a port. */
  ofPort(port: Pick<ServicePort, 'name' | 'protocol'>): PolicyEndpoints {
    const candidates = this.#candidates(this.#sources.get(portKey(port)) ?? []);
    const near = nearEnough(candidates, this.#view.node);
    return {
      cluster: readyOrServing(candidates, (c) => near.has(c)),
      local: readyOrServing(
        candidates.filter((c) => c.local),
        () => true,
      ),
      serving: candidates.filter((c) => c.serving).map((c) => c.address),
    };
  }

  #candidates(sources: readonly Source[]): Candidate[] {
    const { node, limit = Number.POSITIVE_INFINITY } = this.#view;
    const found = new Map<string, Candidate>();
    for (const { endpoint, number } of this.#ordered(sources, limit)) {
      if (found.size >= limit) break;
      const address = endpoint.addresses[0];
      if (address === undefined) continue;
      const candidate = toCandidate(endpoint, { address, port: number, node });
      const key = `${address} ${number}`;
      // While a slice is split or merged an endpoint may be in two: ready wins.
      if (found.get(key)?.ready !== true) found.set(key, candidate);
    }
    return [...found.values()];
  }

  /** In the slices' order; when some must be left out, ready ones of this node come first, then other ready ones. */
  *#ordered(
    sources: readonly Source[],
    limit: number,
  ): Generator<{ readonly endpoint: SliceEndpoint; readonly number: number }> {
    const total = sources.reduce((sum, { slice }) => sum + (slice.endpoints ?? []).length, 0);
    if (total <= limit) {
      for (const { slice, number } of sources) for (const endpoint of slice.endpoints ?? []) yield { endpoint, number };
      return;
    }
    for (const rank of RANKS)
      for (const { slice, number } of sources)
        for (const endpoint of this.#classesOf(slice)[rank]!) yield { endpoint, number };
  }

  #classesOf(slice: EndpointSlice): readonly (readonly SliceEndpoint[])[] {
    let classes = this.#classes.get(slice);
    if (classes === undefined) {
      const groups = Map.groupBy(slice.endpoints ?? [], ({ conditions, nodeName }) =>
        conditions?.ready === false ? 2 : nodeName === this.#view.node.name ? 0 : 1,
      );
      this.#classes.set(slice, (classes = RANKS.map((rank) => groups.get(rank) ?? [])));
    }
    return classes;
  }
}

const RANKS = [0, 1, 2] as const;

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

/**
 * Hints apply only if every ready endpoint has them and at least one is for this node or zone: by node first, then by
 * zone.
 */
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
