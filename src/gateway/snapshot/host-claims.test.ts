/** A host that an Ingress and a Gateway's route name on one port: the older has precedence, and the other reports it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ingress } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import { allSteps } from '../../base/steps.ts';
import { RouteTable } from '../data-plane/route-table.ts';
import { buildGateways } from '../gateway-api/build-gateways.ts';
import { acceptIngresses } from './accept-ingresses.ts';
import { buildSnapshot } from './build-snapshot.ts';
import type { ClusterView } from './cluster-view.ts';
import { claimsOfIngresses, SharedHosts } from './host-claims.ts';
import { SecretCertificates } from './secret-certificates.ts';
import { listenersOf } from './snapshot-fixture.ts';

const HOST = 'web.example';
const ports = { http: 80, https: 443 };
const view: ClusterView = {
  service: (_namespace, name) => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } }),
  slicesOf: () => [],
  secret: (_namespace, name) => ({ metadata: { name }, data: { 'tls.crt': btoa(name), 'tls.key': 'aw==' } }),
};
const metadata = (name: string, namespace: string, age: number) => ({
  name,
  namespace,
  uid: `${namespace}/${name}`,
  resourceVersion: '1',
  creationTimestamp: `2026-01-01T00:00:0${age}Z`,
});

function build({
  ingressAge,
  routeAge,
  host = HOST,
  paths = ['/app'],
}: {
  ingressAge: number;
  routeAge: number;
  host?: string;
  paths?: readonly string[];
}) {
  const backend = { service: { name: 'of-ingress', port: { number: 80 } } };
  const rules = [{ host, http: { paths: paths.map((path) => ({ path, pathType: 'Prefix', backend })) } }];
  const ingress = {
    metadata: metadata('i', 'a', ingressAge),
    spec: { rules, tls: [{ hosts: [HOST], secretName: 'of-ingress' }] },
  } as Stored<Ingress>;
  const tls = { certificateRefs: [{ name: 'of-gateway' }] };
  const gateway = {
    metadata: metadata('g', 'b', routeAge),
    spec: {
      gatewayClassName: 'keelson',
      listeners: [
        { name: 'http', port: 80, protocol: 'HTTP' },
        { name: 'https', port: 443, protocol: 'HTTPS', hostname: HOST, tls },
      ],
    },
  };
  const route = {
    metadata: metadata('r', 'b', routeAge),
    spec: {
      parentRefs: [{ name: 'g' }],
      hostnames: [HOST],
      rules: [{ backendRefs: [{ name: 'of-route', port: 80 }] }],
    },
  };
  const certificates = new SecretCertificates(() => []);
  const ingresses = allSteps(acceptIngresses({ ingresses: [ingress], view, certificates }));
  const shared = new SharedHosts([80, 443], claimsOfIngresses(ingresses));
  const gateways = allSteps(
    buildGateways(
      {
        gateways: [gateway] as never,
        httpRoutes: [route] as never,
        grpcRoutes: [],
        tlsRoutes: [],
        backendTlsPolicies: [],
        authoritiesIn: () => undefined,
        grants: [],
        labelsOfNamespace: () => ({}),
      },
      {
        view,
        certificates,
        taken: new Map(),
        shared,
        portUser: () => undefined,
        addresses: [],
        openPorts: new Set([80, 443]),
      },
    ),
  );
  const defaultCertificate = { certPem: 'default', keyPem: 'k' };
  const built = allSteps(buildSnapshot({ ingresses, ports, defaultCertificate, gateways, shared }));
  const listeners = listenersOf(built.plan.listeners);
  const reached = (port: number, path: string): string | undefined => {
    const table = new RouteTable(listeners.find((one) => one.port === port)?.routes ?? []);
    return table.find({ host: HOST, method: 'GET', path, query: '', header: () => undefined })?.source;
  };
  const chosen = listeners.find(({ isTls }) => isTls)?.certificates.find(({ names }) => names.includes(HOST));
  return {
    reached,
    certificate: chosen?.certPem,
    conditions: gateways.routes[0]!.parents[0]!.conditions.map(({ type, reason }) => `${type} ${reason}`),
    messages: gateways.routes[0]!.parents[0]!.conditions.map(({ message }) => message),
    problems: built.problems.get('a/i')!.map(({ reason, message }) => `${reason}: ${message}`),
  };
}

test('an older Ingress keeps its paths and its certificate; the route gets the remaining requests and reports it', () => {
  const { reached, certificate, conditions, messages, problems } = build({ ingressAge: 1, routeAge: 2 });
  for (const port of [80, 443])
    assert.deepEqual([reached(port, '/app'), reached(port, '/')], ['Ingress a/i', 'HTTPRoute b/r']);
  assert.equal(certificate, 'of-ingress');
  assert.ok(conditions.includes('Accepted Accepted'));
  assert.ok(conditions.includes('keelson.dev/HostConflict OlderIngress'));
  assert.ok(messages.some((one) => one.startsWith(`Ingress a/i, which is older, has precedence for ${HOST} on port`)));
  assert.deepEqual(problems, []);
});

test('an older Ingress that is too large to be served claims no host', () => {
  const paths = Array.from({ length: 8_000 }, (_, at) => `/app/${at}`);
  const { reached, conditions, problems } = build({ ingressAge: 1, routeAge: 2, paths });
  assert.equal(reached(80, '/app/1'), 'HTTPRoute b/r');
  assert.ok(!conditions.some((one) => one.includes('HostConflict')));
  assert.match(problems.join(), /^ResourceLimitExceeded: the ingress is not served/);
});

test('an older route keeps the host; the Ingress has an event', () => {
  const { reached, certificate, conditions, problems } = build({ ingressAge: 2, routeAge: 1 });
  for (const port of [80, 443]) assert.equal(reached(port, '/app'), 'HTTPRoute b/r');
  assert.equal(certificate, 'of-gateway');
  assert.ok(!conditions.some((one) => one.includes('HostConflict')));
  assert.deepEqual(problems, [
    `HostConflict: HTTPRoute b/r, which is older, has precedence for ${HOST} on port 80`,
    `HostConflict: HTTPRoute b/r, which is older, has precedence for ${HOST} on port 443`,
  ]);
});

test('different hosts are no conflict: the exact name precedes the wildcard, whichever is older', () => {
  const { reached, conditions, problems } = build({ ingressAge: 1, routeAge: 2, host: '*.example' });
  assert.equal(reached(80, '/app'), 'HTTPRoute b/r');
  assert.ok(!conditions.some((one) => one.includes('HostConflict')));
  assert.deepEqual(problems, []);
});
