/**
 * Keelson's definitions of the Gateway API on the API server: it accepts them, and their defaults and validation equal
 * upstream's.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFINITIONS, settle, startCustomServer } from '../../apiserver/apiextensions/custom-fixture.ts';
import { gatewayApiObjects } from '../../gateway/gateway-api/definitions.ts';
import { gatewayApiDefined } from './gateway-definitions.ts';

const API = '/apis/gateway.networking.k8s.io/v1';

const httpRoute = (name: string, spec: object) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name },
  spec,
});

test("definitions, defaults and rules of the Gateway API are upstream's", async () => {
  const server = await startCustomServer();
  const end = new AbortController();
  const defined = gatewayApiDefined(server.server.objects, end.signal);
  const objects = gatewayApiObjects() as { kind: string; metadata: { name: string } }[];
  for (const object of objects.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    const { status, text } = await server.send('POST', DEFINITIONS, object);
    assert.equal(status, 201, `${object.metadata.name}: ${text}`);
  }
  await settle();
  assert.deepEqual(await defined, { grantVersion: 'v1' });

  const gatewayClass = objects.find(({ kind }) => kind === 'GatewayClass');
  assert.equal((await server.send('POST', `${API}/gatewayclasses`, gatewayClass)).status, 201);

  const routes = `${API}/namespaces/default/httproutes`;
  const made = await server.send(
    'POST',
    routes,
    httpRoute('a', {
      parentRefs: [{ name: 'g' }],
      rules: [{ backendRefs: [{ name: 's', port: 80 }] }],
    }),
  );
  assert.equal(made.status, 201, made.text);
  const { spec } = made.body as { spec: { parentRefs: object[]; rules: object[] } };
  assert.deepEqual(spec, {
    parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
    rules: [
      {
        backendRefs: [{ group: '', kind: 'Service', name: 's', port: 80, weight: 1 }],
        matches: [{ path: { type: 'PathPrefix', value: '/' } }],
      },
    ],
  });

  const refused: readonly (readonly [spec: object, message: RegExp])[] = [
    [{ rules: [{ backendRefs: [{ name: 's' }] }] }, /Must have port for Service reference/],
    [{ rules: [{ matches: [{ path: { type: 'Exact', value: 'x' } }] }] }, /must be an absolute path|value must/],
    [{ hostnames: ['a_b'] }, /spec\.hostnames/],
    [
      { rules: [{ filters: [{ type: 'RequestRedirect' }] }] },
      /requestRedirect must be specified|filter\.requestRedirect/,
    ],
  ];
  for (const [bad, message] of refused) {
    const { status, text } = await server.send('POST', routes, httpRoute('bad', bad));
    assert.equal(status, 422, text);
    assert.match(text, message);
  }
  const listeners = [
    { name: 'a', port: 80, protocol: 'HTTP' },
    { name: 'b', port: 80, protocol: 'HTTP' },
  ];
  const gateway = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'g' },
    spec: { gatewayClassName: 'keelson', listeners },
  };
  const { status, text } = await server.send('POST', `${API}/namespaces/default/gateways`, gateway);
  assert.equal(status, 422);
  assert.match(text, /must be unique/);
  end.abort();
});
