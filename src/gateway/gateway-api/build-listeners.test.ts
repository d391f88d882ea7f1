/** Gateways and their listeners: which are served and programmed, and conditions with upstream's reasons. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { build, gateway, listener, reasons } from './build-gateways-fixture.ts';
import type { Gateway } from './types.ts';

describe('gateways', () => {
  const verdict = (one: object, more: Parameters<typeof build>[1] = {}) => {
    const [found] = build({ gateways: [one] as never }, more).gateways;
    return {
      gateway: reasons(found?.conditions),
      listeners: found?.listeners.map(({ conditions }) => reasons(conditions)),
    };
  };
  const served = ['Accepted=True Accepted', 'Conflicted=False NoConflicts', 'ResolvedRefs=True ResolvedRefs'];

  test('a gateway is programmed once its ports are open', () => {
    const one = gateway([listener()]);
    assert.deepEqual(verdict(one), {
      gateway: ['Accepted=True Accepted', 'Programmed=True Programmed'],
      listeners: [[...served, 'Programmed=True Programmed']],
    });
    assert.deepEqual(verdict(one, { ports: [] }).gateway, ['Accepted=True Accepted', 'Programmed=False Pending']);
  });

  const https = (tls: object | undefined) => gateway([listener({ protocol: 'HTTPS', port: 443, ...(tls && { tls }) })]);
  const refs = (name: string, more: object = {}) => ({ certificateRefs: [{ name, ...more }] });
  const cases: readonly (readonly [what: string, gateway: object, listener: string])[] = [
    ['a certificate', https(refs('cert')), 'ResolvedRefs=True ResolvedRefs'],
    ['a secret that is not there', https(refs('none')), 'ResolvedRefs=False InvalidCertificateRef'],
    ['no certificate', https(undefined), 'ResolvedRefs=False InvalidCertificateRef'],
    ['what is no secret', https(refs('cert', { kind: 'ConfigMap' })), 'ResolvedRefs=False InvalidCertificateRef'],
    [
      'a secret of another namespace',
      https(refs('cert', { namespace: 'other' })),
      'ResolvedRefs=False RefNotPermitted',
    ],
    ['a protocol that is not served', gateway([listener({ protocol: 'TCP' })]), 'Accepted=False UnsupportedProtocol'],
    [
      'kinds that are not served',
      gateway([listener({ allowedRoutes: { kinds: [{ kind: 'TCPRoute' }] } })]),
      'ResolvedRefs=False InvalidRouteKinds',
    ],
  ];
  for (const [what, one, expected] of cases)
    test(what, () => assert.ok(verdict(one).listeners?.[0]?.includes(expected), JSON.stringify(verdict(one))));

  test('a listener of an unsupported protocol accepts no kind of routes, whatever it allows', () => {
    for (const allowedRoutes of [undefined, { kinds: [{ kind: 'HTTPRoute' }] }]) {
      const one = gateway([listener({ protocol: 'INVALID', ...(allowedRoutes && { allowedRoutes }) })]);
      const [found] = build({ gateways: [one] as never }).gateways;
      assert.deepEqual(found?.listeners[0]?.listener.kinds, []);
      assert.ok(reasons(found?.listeners[0]?.conditions).includes('ResolvedRefs=True ResolvedRefs'));
    }
  });

  test('a port has one protocol: that of the older gateway, or of ingresses', () => {
    const older = gateway([listener()], {}, { creationTimestamp: '2026-01-01T00:00:00Z', name: 'older' });
    const younger = gateway(
      [listener(), listener({ name: 'tls', protocol: 'HTTPS', tls: refs('cert') })],
      {},
      { creationTimestamp: '2026-02-01T00:00:00Z' },
    );
    const { gateways } = build({ gateways: [younger, older] as never });
    assert.deepEqual(
      gateways[0]?.listeners.map(({ conditions }) => reasons(conditions)[1]),
      ['Conflicted=False NoConflicts', 'Conflicted=True ProtocolConflict'],
    );
    assert.deepEqual(reasons(gateways[1]?.conditions), ['Accepted=True Accepted', 'Programmed=True Programmed']);
    const taken = new Map([[80, true]]);
    assert.equal(verdict(gateway([listener()]), { taken }).listeners?.[0]?.[1], 'Conflicted=True ProtocolConflict');
  });

  test('a port that the nodes need themselves is refused for all listeners, and not opened', () => {
    const portUser = (port: number) => (port === 6443 ? 'the API server' : undefined);
    const one = gateway([listener({ port: 6443 }), listener({ name: 'web' })]);
    const built = build({ gateways: [one] as never }, { portUser });
    const [refused] = built.gateways[0]!.listeners;
    const [accepted] = refused!.conditions;
    assert.deepEqual(accepted, {
      type: 'Accepted',
      status: 'False',
      reason: 'PortUnavailable',
      message: 'port 6443 of the nodes is needed by the API server',
    });
    assert.ok(reasons(refused!.conditions).includes('Programmed=False Invalid'));
    assert.deepEqual(
      built.ports.map(({ port }) => port),
      [80],
    );
    assert.deepEqual(verdict(one, { portUser }).gateway[0], 'Accepted=True ListenersNotValid');
  });

  test('a gateway with unsupported fields is refused, and nothing of it is served', () => {
    for (const [spec, reason] of [
      [{ infrastructure: { parametersRef: {} } }, 'InvalidParameters'],
      [{ tls: { frontend: {} } }, 'UnsupportedValue'],
      [{ addresses: [{ type: 'Hostname', value: 'x' }] }, 'UnsupportedAddress'],
    ] as const) {
      const one = gateway([listener()], spec) as Gateway;
      assert.deepEqual(verdict(one).gateway, [`Accepted=False ${reason}`, 'Programmed=False Invalid']);
      assert.deepEqual(build({ gateways: [one] as never }).ports, []);
    }
    const foreign = gateway([listener()], { addresses: [{ value: '192.0.2.9' }] });
    assert.deepEqual(verdict(foreign).gateway[1], 'Programmed=False AddressNotUsable');
  });
});
