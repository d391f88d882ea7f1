/**
 * Validates the listeners of Gateways: which are served, with which certificates, and the reasons for the others. Listeners of
 * all Gateways share the ports of the node: the oldest Gateway determines a port's protocol. Several Gateways may have a host
 * name on it; `host-order.ts` orders their routes.
 * Differs: upstream accepts none of such listeners when Gateways share addresses, which would let anybody end a Gateway.
 */
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { SnapshotBudget } from '../snapshot/snapshot-budget.ts';
import type { PlannedCertificate } from '../snapshot/snapshot-plan.ts';
import { condition, type NewCondition } from './conditions.ts';
import { isBelow } from './hostnames.ts';
import { certificatesOfListener, type CertificateContext } from './listener-certificates.ts';
import type { Gateway, GatewayListener } from './types.ts';

const GROUP = 'gateway.networking.k8s.io';
const HTTP_KINDS: readonly string[] = ['HTTPRoute', 'GRPCRoute'];
/** The kinds of routes that listeners accept, by protocol. */
const KINDS_OF: Readonly<Partial<Record<string, readonly string[]>>> = {
  HTTP: HTTP_KINDS,
  HTTPS: HTTP_KINDS,
  TLS: ['TLSRoute'],
};

/** Each port is a socket of every process that serves routes. */
const MAX_PORTS = 1_000;
const MAX_PORTS_OF_NAMESPACE = 100;

/** A listener with its state. */
export interface ResolvedListener {
  readonly gateway: Stored<Gateway>;
  readonly listener: GatewayListener;
  readonly isTls: boolean;
  /** HTTPRoutes and GRPCRoutes are served; otherwise TLSRoutes. */
  readonly isHttp: boolean;
  /** TLS is passed through to backends. */
  readonly isPassthrough: boolean;
  /** False when no route is served at it. */
  readonly isServed: boolean;
  readonly kinds: readonly string[];
  readonly certificates: readonly PlannedCertificate[];
  /** Host names of the Gateway's other HTTP listeners on the port, whose requests do not belong to this one. */
  readonly moreSpecific: readonly string[];
  /** Without attachedRoutes and Programmed, which depend on the data plane. */
  readonly conditions: readonly NewCondition[];
}

export interface ListenerContext extends Pick<CertificateContext, 'view' | 'grants' | 'certificates'> {
  /** The budget for certificates in the snapshot. */
  readonly budget: SnapshotBudget;
  /** Ports of ingresses, with whether they use TLS. */
  readonly taken: ReadonlyMap<number, boolean>;
  /** The component of the node that uses a port; undefined for a free one. */
  readonly portUser: (port: number) => string | undefined;
}

/** Resolves the listeners of all Gateways, which are sorted by age. One step for each. */
export function* resolveListeners(
  gateways: readonly Stored<Gateway>[],
  context: ListenerContext,
): Steps<ResolvedListener[]> {
  const ports = new Map(context.taken);
  const opened = new Map<string, number>();
  const resolved: ResolvedListener[] = [];
  for (const gateway of gateways) {
    const ofGateway = { account: context.budget.account(namespaceOf(gateway)), secrets: new Set<string>() };
    const own: UnisolatedListener[] = [];
    const hosts = new Set<string>();
    for (const listener of gateway.spec.listeners ?? []) {
      own.push(resolveListener(gateway, listener, { ...context, ...ofGateway, ports, opened, hosts }));
      yield;
    }
    for (const one of own) resolved.push({ ...one, moreSpecific: moreSpecificNames(one, own) });
  }
  return resolved;
}

type UnisolatedListener = Omit<ResolvedListener, 'moreSpecific'>;

/** Requests belong to the most specific listener of their host. Upstream: "Listener Isolation" in GatewaySpec.Listeners. */
function moreSpecificNames({ listener, isHttp }: UnisolatedListener, own: readonly UnisolatedListener[]): string[] {
  if (!isHttp) return [];
  return own.flatMap((other) => {
    const name = hostnameOf(other.listener);
    const isOnPort = other.isHttp && other.isServed && other.listener.port === listener.port;
    return isOnPort && isBelow(name, hostnameOf(listener)) ? [name] : [];
  });
}

function hostnameOf({ hostname = '' }: GatewayListener): string {
  return hostname.toLowerCase();
}

interface Claims {
  readonly ports: Map<number, boolean>;
  /** The number of ports that listeners of each namespace were the first to claim. */
  readonly opened: Map<string, number>;
  /** Ports and host names of the Gateway's earlier listeners. */
  readonly hosts: Set<string>;
}

function resolveListener(
  gateway: Stored<Gateway>,
  listener: GatewayListener,
  context: ListenerContext & CertificateContext & Claims,
): UnisolatedListener {
  const namespace = namespaceOf(gateway);
  const isHttp = listener.protocol !== 'TLS';
  const isPassthrough = !isHttp && listener.tls?.mode === 'Passthrough';
  const isTls = !isHttp || listener.protocol === 'HTTPS';
  const refusal = refusalOf(listener, isTls) ?? portRefusal(listener, { ...context, namespace });
  const conflict = refusal === undefined ? conflictOf(listener, { ...context, isTls, namespace }) : undefined;
  const kinds = allowedKinds(listener);
  const isTerminated = isTls && !isPassthrough;
  const tls = isTerminated
    ? certificatesOfListener(gateway, listener, context)
    : { certificates: [], problem: undefined };
  const badKinds = kinds.unknown.length > 0;
  const problem = badKinds
    ? {
        reason: 'InvalidRouteKinds',
        message: `routes of kind ${kinds.unknown.join(', ')} are not served`,
      }
    : tls.problem;
  const accepted =
    refusal === undefined && conflict === undefined
      ? condition('Accepted', true, 'Accepted', 'the listener is accepted')
      : condition('Accepted', false, (refusal ?? conflict)!.reason, (refusal ?? conflict)!.message);
  const isServed =
    accepted.status === 'True' && (!isTerminated || tls.certificates.length > 0) && kinds.known.length > 0;
  return {
    gateway,
    listener,
    isTls,
    isHttp,
    isPassthrough,
    isServed,
    kinds: kinds.known,
    certificates: tls.certificates,
    conditions: [
      accepted,
      conflict === undefined
        ? condition('Conflicted', false, 'NoConflicts', 'no other listener is in its way')
        : condition('Conflicted', true, conflict.reason, conflict.message),
      problem === undefined
        ? condition('ResolvedRefs', true, 'ResolvedRefs', 'all references are resolved')
        : condition('ResolvedRefs', false, problem.reason, problem.message),
    ],
  };
}

interface Refusal {
  readonly reason: string;
  readonly message: string;
}

function refusalOf({ protocol, tls }: GatewayListener, isTls: boolean): Refusal | undefined {
  if (protocol !== 'HTTP' && !isTls)
    return {
      reason: 'UnsupportedProtocol',
      message: `protocol ${protocol} is not served; HTTP, HTTPS and TLS are`,
    };
  const mode = tls?.mode ?? 'Terminate';
  if (protocol === 'HTTPS' && mode !== 'Terminate')
    return { reason: 'UnsupportedValue', message: 'HTTPS is always terminated; protocol TLS may be passed through' };
  return undefined;
}

/** The data plane's socket outlives a restart, after which the node's own server could not open the port. */
function portRefusal(
  { port }: GatewayListener,
  { portUser, ports, opened, namespace }: ListenerContext & Claims & { readonly namespace: string },
): Refusal | undefined {
  const refusal = (message: string): Refusal => ({ reason: 'PortUnavailable', message });
  const user = portUser(port);
  if (user !== undefined) return refusal(`port ${port} of the nodes is needed by ${user}`);
  if (ports.has(port)) return undefined;
  if (ports.size < MAX_PORTS && (opened.get(namespace) ?? 0) < MAX_PORTS_OF_NAMESPACE) return undefined;
  return refusal(
    `listeners of one namespace have at most ${MAX_PORTS_OF_NAMESPACE} ports, all together ${MAX_PORTS}; older ones have used them up`,
  );
}

/**
 * Claims the port and the name. A conflict arises when an older Gateway has the port with the other use of TLS, or an earlier
 * listener of this one has the name.
 */
function conflictOf(
  listener: GatewayListener,
  { isTls, namespace, ports, opened, hosts }: Claims & { readonly isTls: boolean; readonly namespace: string },
): Refusal | undefined {
  const { port } = listener;
  const holder = ports.get(port);
  if (holder !== undefined && holder !== isTls)
    return {
      reason: 'ProtocolConflict',
      message: `port ${port} is served ${holder ? 'with' : 'without'} TLS already`,
    };
  const key = `${port} ${hostnameOf(listener)}`;
  if (hosts.has(key))
    return {
      reason: 'HostnameConflict',
      message: `another listener of the Gateway has this host name on port ${port}`,
    };
  if (holder === undefined) opened.set(namespace, (opened.get(namespace) ?? 0) + 1);
  ports.set(port, isTls);
  hosts.add(key);
  return undefined;
}

function allowedKinds({ protocol, allowedRoutes }: GatewayListener): {
  known: readonly string[];
  unknown: readonly string[];
} {
  const named = allowedRoutes?.kinds ?? [];
  const kinds = KINDS_OF[protocol];
  if (kinds === undefined) return { known: [], unknown: [] };
  if (named.length === 0) return { known: kinds, unknown: [] };
  const isKnown = ({ group = GROUP, kind }: { group?: string; kind: string }): boolean =>
    group === GROUP && kinds.includes(kind);
  return {
    known: named.filter(isKnown).map(({ kind }) => kind),
    unknown: named.filter((one) => !isKnown(one)).map(({ kind }) => kind),
  };
}
