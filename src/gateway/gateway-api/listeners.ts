/**
 * What becomes of the listeners of Gateways: which can be served, with which certificates, and why others cannot. Listeners of
 * all Gateways share the ports of the node: the older Gateway has a port's protocol and a host name on it.
 */
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { SnapshotBudget } from '../snapshot/snapshot-budget.ts';
import type { PlannedCertificate } from '../snapshot/snapshot-plan.ts';
import { condition, type NewCondition } from './conditions.ts';
import { certificatesOfListener, type CertificateContext } from './listener-certificates.ts';
import type { Gateway, GatewayListener } from './types.ts';

const GROUP = 'gateway.networking.k8s.io';
/** The kinds of routes that listeners of a protocol take. */
const HTTP_KINDS: readonly string[] = ['HTTPRoute', 'GRPCRoute'];
const TLS_KINDS: readonly string[] = ['TLSRoute'];

/** A listener with its verdict. */
export interface ResolvedListener {
  readonly gateway: Stored<Gateway>;
  readonly listener: GatewayListener;
  readonly isTls: boolean;
  /** TLS goes to backends as it is. */
  readonly isPassthrough: boolean;
  /** False: no route is served at it. */
  readonly isServed: boolean;
  readonly kinds: readonly string[];
  readonly certificates: readonly PlannedCertificate[];
  /** Without attachedRoutes and Programmed, which the data plane decides. */
  readonly conditions: readonly NewCondition[];
}

export interface ListenerContext extends Pick<CertificateContext, 'view' | 'grants' | 'certificates'> {
  /** What certificates may take of the snapshot. */
  readonly budget: SnapshotBudget;
  /** Ports of ingresses, with whether they are for TLS. */
  readonly taken: ReadonlyMap<number, boolean>;
  /** What else the nodes need a port for; undefined: nothing. */
  readonly portUser: (port: number) => string | undefined;
}

/** All listeners of Gateways, which come the oldest first. A step for each. */
export function* resolveListeners(
  gateways: readonly Stored<Gateway>[],
  context: ListenerContext,
): Steps<ResolvedListener[]> {
  const ports = new Map(context.taken);
  const hosts = new Set<string>();
  const resolved: ResolvedListener[] = [];
  for (const gateway of gateways) {
    const ofGateway = { account: context.budget.account(namespaceOf(gateway)), secrets: new Set<string>() };
    for (const listener of gateway.spec.listeners ?? []) {
      resolved.push(resolveListener(gateway, listener, { ...context, ...ofGateway, ports, hosts }));
      yield;
    }
  }
  return resolved;
}

interface Claims {
  readonly ports: Map<number, boolean>;
  readonly hosts: Set<string>;
}

function resolveListener(
  gateway: Stored<Gateway>,
  listener: GatewayListener,
  context: ListenerContext & CertificateContext & Claims,
): ResolvedListener {
  const isPassthrough = listener.protocol === 'TLS';
  const isTls = isPassthrough || listener.protocol === 'HTTPS';
  const refusal = refusalOf(listener, isTls) ?? portRefusal(listener, context);
  const conflict = refusal === undefined ? conflictOf(listener, isTls, context) : undefined;
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
    return { reason: 'UnsupportedValue', message: 'HTTPS is always terminated; protocol TLS is passed through' };
  if (protocol === 'TLS' && mode !== 'Passthrough')
    return { reason: 'UnsupportedValue', message: 'protocol TLS is served with mode Passthrough alone' };
  return undefined;
}

/** What holds a port outlives a restart, at which the node's own server would not get it. */
function portRefusal({ port }: GatewayListener, { portUser }: ListenerContext): Refusal | undefined {
  const user = portUser(port);
  return user === undefined
    ? undefined
    : { reason: 'PortUnavailable', message: `port ${port} of the nodes is needed by ${user}` };
}

/** Takes the port and the name, unless an older listener has them. */
function conflictOf(
  { port, hostname = '' }: GatewayListener,
  isTls: boolean,
  { ports, hosts }: Claims,
): Refusal | undefined {
  const holder = ports.get(port);
  if (holder !== undefined && holder !== isTls)
    return {
      reason: 'ProtocolConflict',
      message: `port ${port} is served ${holder ? 'with' : 'without'} TLS already`,
    };
  const key = `${port} ${hostname.toLowerCase()}`;
  if (hosts.has(key))
    return {
      reason: 'HostnameConflict',
      message: `an older listener has this host name on port ${port}`,
    };
  ports.set(port, isTls);
  hosts.add(key);
  return undefined;
}

function allowedKinds({ protocol, allowedRoutes }: GatewayListener): {
  known: readonly string[];
  unknown: readonly string[];
} {
  const named = allowedRoutes?.kinds ?? [];
  const kinds = protocol === 'TLS' ? TLS_KINDS : HTTP_KINDS;
  if (named.length === 0) return { known: kinds, unknown: [] };
  const isKnown = ({ group = GROUP, kind }: { group?: string; kind: string }): boolean =>
    group === GROUP && kinds.includes(kind);
  return {
    known: named.filter(isKnown).map(({ kind }) => kind),
    unknown: named.filter((one) => !isKnown(one)).map(({ kind }) => kind),
  };
}
