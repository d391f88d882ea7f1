/** TLSRoutes at listeners with mode Terminate: TLS ends at the gateway, and the inner bytes go to the backend. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenersOf } from '../snapshot/snapshot-fixture.ts';
import type { Passthrough } from '../snapshot/snapshot.ts';
import { build, gateway, listener, metadata, parentReasons, reasons } from './build-gateways-fixture.ts';
import type { BuiltGateways } from './build-gateways.ts';
import type { GatewayListener } from './types.ts';

const terminating = (parts: Partial<GatewayListener> = {}): GatewayListener =>
  listener({
    name: 'tls',
    port: 443,
    protocol: 'TLS',
    hostname: 'a.example',
    tls: { mode: 'Terminate', certificateRefs: [{ name: 'cert' }] },
    ...parts,
  });
const passing = (parts: Partial<GatewayListener> = {}): GatewayListener =>
  terminating({ name: 'passing', hostname: 'p.example', tls: { mode: 'Passthrough' }, ...parts });
const https = (parts: Partial<GatewayListener> = {}): GatewayListener =>
  terminating({ name: 'https', protocol: 'HTTPS', hostname: 'h.example', ...parts });
const tlsRoute = (hostnames: readonly string[] | undefined, name = 's') => ({
  metadata: metadata('t', 'ns', { creationTimestamp: '2026-01-01T00:00:01Z' }),
  spec: { parentRefs: [{ name: 'g' }], hostnames, rules: [{ backendRefs: [{ name, port: 80 }] }] },
});

function built(listeners: readonly GatewayListener[], routes: readonly object[], more: object = {}): BuiltGateways {
  return build({ gateways: [gateway(listeners)], tlsRoutes: routes, ...more } as never);
}
const connections = (one: BuiltGateways): string[] =>
  (listenersOf(one.ports)[0]?.passthrough ?? []).map(
    ({ host, isTerminated, backends }: Passthrough) =>
      `${host} ${isTerminated === true ? 'terminated' : 'passed'} ${backends.map(({ backend }) => backend).join()}`,
  );

test('a listener with a certificate accepts TLSRoutes and is served', () => {
  const one = built([terminating()], [tlsRoute(['a.example'])]);
  const [verdict] = one.gateways[0]!.listeners;
  assert.deepEqual(verdict?.listener.kinds, ['TLSRoute']);
  assert.equal(verdict?.attachedRoutes, 1);
  assert.deepEqual(reasons(verdict?.conditions), [
    'Accepted=True Accepted',
    'Conflicted=False NoConflicts',
    'ResolvedRefs=True ResolvedRefs',
    'Programmed=True Programmed',
  ]);
  assert.deepEqual(parentReasons(one)[0], ['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs']);
  assert.deepEqual(connections(one), ['a.example terminated ns/s:80']);
  const [port] = listenersOf(one.ports);
  assert.deepEqual([port?.isTcp, port?.terminated, port?.certificates.length], [true, [], 1]);
});

test('a listener without a certificate is not served', () => {
  const one = built([terminating({ tls: { mode: 'Terminate' } })], [tlsRoute(['a.example'])]);
  assert.ok(reasons(one.gateways[0]!.listeners[0]!.conditions).includes('ResolvedRefs=False InvalidCertificateRef'));
  assert.deepEqual(listenersOf(one.ports), []);
});

test('mode Terminate is the default', () => {
  const one = built([terminating({ tls: { certificateRefs: [{ name: 'cert' }] } })], [tlsRoute(['a.example'])]);
  assert.deepEqual(connections(one), ['a.example terminated ns/s:80']);
});

test('both modes share a port, each name by its own listener; a route at both is served in both modes', () => {
  const one = built([terminating(), passing()], [tlsRoute(['a.example', 'p.example'])]);
  assert.deepEqual(
    one.gateways[0]!.listeners.map(({ attachedRoutes, conditions }) => [attachedRoutes, reasons(conditions)[0]]),
    [
      [1, 'Accepted=True Accepted'],
      [1, 'Accepted=True Accepted'],
    ],
  );
  assert.deepEqual(connections(one), ['p.example passed ns/s:80', 'a.example terminated ns/s:80']);
});

test('of two listeners that cover a name the more specific determines its mode', () => {
  const wide = passing({ hostname: '*.example' });
  assert.deepEqual(connections(built([wide, terminating()], [tlsRoute(['a.example'])])), [
    'a.example terminated ns/s:80',
  ]);
  const all = terminating({ hostname: undefined });
  assert.deepEqual(connections(built([all, wide], [tlsRoute(['x.example', 'x.test'])])), [
    'x.example passed ns/s:80',
    'x.test terminated ns/s:80',
  ]);
});

test('an HTTPS listener has its own names and those that no other listener has', () => {
  const one = built([terminating(), https()], [tlsRoute(['a.example'])]);
  const [port] = listenersOf(one.ports);
  assert.deepEqual([port?.isTcp === true, port?.terminated], [false, ['h.example']]);
  assert.deepEqual(connections(one), ['a.example terminated ns/s:80']);
});

test('a route whose name an HTTPS listener of the Gateway has is not served at a wider one', () => {
  const one = built([terminating({ hostname: '*.example' }), https()], [tlsRoute(['h.example', 'a.example'])]);
  assert.deepEqual(connections(one), ['a.example terminated ns/s:80']);
  assert.ok(parentReasons(one)[0]?.includes('keelson.dev/HostConflict=True TerminatedHost'));
});

test('a BackendTLSPolicy applies where TLS is terminated, and not where it is passed through', () => {
  const policy = {
    metadata: metadata('p'),
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 's' }],
      validation: { hostname: 'inner.example', wellKnownCACertificates: 'System' },
    },
  };
  const more = { backendTlsPolicies: [policy] };
  const one = built([terminating(), passing()], [tlsRoute(['a.example', 'p.example'])], more);
  assert.deepEqual(connections(one), ['p.example passed ns/s:80', 'a.example terminated ns/s:80 https']);
  assert.equal(one.backends['ns/s:80 https']?.verification?.serverName, 'inner.example');
  assert.equal(one.backends['ns/s:80']?.verification, undefined);
  assert.equal(one.policies[0]?.gateways.length, 1, 'the policy names the Gateway as its ancestor');
  const passed = built([passing()], [tlsRoute(['p.example'])], more);
  assert.deepEqual(passed.policies, []);
});

test('nothing is sent in plain to a backend whose policy is invalid', () => {
  const policy = {
    metadata: metadata('p'),
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 's' }],
      validation: { hostname: 'inner.example', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'missing' }] },
    },
  };
  const one = built([terminating()], [tlsRoute(['a.example'])], { backendTlsPolicies: [policy] });
  assert.deepEqual(connections(one), ['a.example terminated ']);
});
