/** Gateways and routes from which tests build snapshots. */
import assert from 'node:assert/strict';
import type { Service } from '../../api/gen/core-v1.ts';
import { allSteps } from '../../base/steps.ts';
import type { ClusterView } from '../snapshot/cluster-view.ts';
import { SharedHosts } from '../snapshot/host-claims.ts';
import { type InspectCertificate, SecretCertificates } from '../snapshot/secret-certificates.ts';
import { buildGateways, type BuiltGateways, type GatewayObjects } from './build-gateways.ts';
import type { NewCondition } from './conditions.ts';
import type { GatewayListener, HeaderFilter, HttpMatch, RouteFilter, RouteRule } from './types.ts';

let count = 0;
export const metadata = (name: string, namespace = 'ns', more: object = {}) =>
  ({ name, namespace, uid: `u${count++}`, resourceVersion: '1', generation: 3, ...more }) as never;

export const listener = (parts: Partial<GatewayListener> = {}): GatewayListener => ({
  name: 'http',
  port: 80,
  protocol: 'HTTP',
  ...parts,
});
export const gateway = (listeners: readonly GatewayListener[], spec: object = {}, more: object = {}) => ({
  metadata: metadata('g', 'ns', more),
  spec: { gatewayClassName: 'keelson', listeners, ...spec },
});
export const backendTo = (name: string, more: object = {}) => ({
  backendRefs: [{ name, port: 80, ...more }],
});
export const httpRoute = (rules: readonly RouteRule<HttpMatch>[], spec: object = {}, more: object = {}) => ({
  metadata: metadata('r', 'ns', more),
  spec: { parentRefs: [{ name: 'g' }], rules, ...spec },
});

export const requestHeaders = (requestHeaderModifier: HeaderFilter): RouteFilter => ({
  type: 'RequestHeaderModifier',
  requestHeaderModifier,
});

export const service = (): Service => ({ metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } });
export const view: ClusterView = {
  service: (_namespace, name) => (name === 'missing' ? undefined : service()),
  slicesOf: () => [],
  secret: (_namespace, name) =>
    name === 'cert' ? { metadata: { name }, data: { 'tls.crt': 'Yw==', 'tls.key': 'aw==' } } : undefined,
};

export function build(
  objects: Partial<GatewayObjects>,
  more: {
    taken?: ReadonlyMap<number, boolean>;
    ports?: number[];
    shared?: SharedHosts;
    view?: ClusterView;
    inspect?: InspectCertificate;
    portUser?: (port: number) => string | undefined;
  } = {},
): BuiltGateways {
  const steps = buildGateways(
    {
      gateways: [gateway([listener()])] as never,
      httpRoutes: [],
      grpcRoutes: [],
      tlsRoutes: [],
      backendTlsPolicies: [],
      authoritiesIn: () => undefined,
      grants: [],
      labelsOfNamespace: (name): Readonly<Record<string, string>> => (name === 'labelled' ? { team: 'a' } : {}),
      ...(objects as object),
    },
    {
      view: more.view ?? view,
      certificates: new SecretCertificates(more.inspect ?? (() => ['in.certificate'])),
      taken: more.taken ?? new Map(),
      shared: more.shared ?? new SharedHosts([], new Map()),
      portUser: more.portUser ?? (() => undefined),
      addresses: [{ ip: '192.0.2.1' }],
      openPorts: new Set(more.ports ?? [80, 443]),
    },
  );
  return allSteps(steps);
}

export const reasons = (conditions: readonly NewCondition[] = []): string[] =>
  conditions.map(({ type, status, reason, message }) => {
    assert.notEqual(message, '', `${type} has a message`);
    return `${type}=${status} ${reason}`;
  });
export const parentReasons = (built: BuiltGateways): string[][] =>
  built.routes.flatMap(({ parents }) => parents.map(({ conditions }) => reasons(conditions)));
