/** Aggregated APIs: requests, discovery, OpenAPI, and the identity of the user. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { APIServices, ConfigMaps } from '../../src/api/gen/resources.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';

const GROUP = 'fruit.example.com';
const resources = [
  {
    name: 'apples',
    singularName: 'apple',
    namespaced: true,
    kind: 'Apple',
    verbs: ['get', 'list'],
    shortNames: ['ap'],
  },
];
const apple = (name: string): object => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Apple',
  metadata: { name, namespace: 'default' },
});

const TYPE = 'com.example.fruit.v1.Apple';
/** OpenAPI v2 with no more than kubectl explain needs. */
const document = {
  swagger: '2.0',
  info: { title: 'fruit', version: 'v1' },
  paths: {
    [`/apis/${GROUP}/v1/namespaces/{namespace}/apples`]: {
      get: {
        operationId: 'listApples',
        responses: { '200': { description: 'OK', schema: { $ref: `#/definitions/${TYPE}` } } },
        'x-kubernetes-action': 'list',
        'x-kubernetes-group-version-kind': { group: GROUP, version: 'v1', kind: 'Apple' },
      },
    },
  },
  definitions: {
    [TYPE]: {
      description: 'An apple.',
      type: 'object',
      properties: { core: { description: 'what is left of it', type: 'string' } },
      'x-kubernetes-group-version-kind': [{ group: GROUP, version: 'v1', kind: 'Apple' }],
    },
  },
};

describe('an aggregated API', () => {
  let plane: ControlPlaneFixture;
  let server: Server;
  const asked: { url: string; user: unknown; groups: unknown; certificate: string | undefined }[] = [];

  before(async () => {
    plane = await startControlPlane();
    const pki = join(plane.directory, 'pki');
    const { data = {} } = await plane.admin
      .resource(ConfigMaps)
      .get({ namespace: 'kube-system', name: 'extension-apiserver-authentication' });
    // The serving certificate of the control plane is valid for "localhost"; the front proxy's authority is the published one.
    server = createServer(
      {
        cert: await readFile(join(pki, 'apiserver.crt')),
        key: await readFile(join(pki, 'apiserver.key')),
        ca: data['requestheader-client-ca-file'],
        requestCert: true,
        rejectUnauthorized: true,
      },
      (request, response) => {
        const { url = '', headers } = request as IncomingMessage;
        const certificate = (request.socket as TLSSocket).getPeerCertificate().subject?.CN;
        asked.push({
          url,
          user: headers['x-remote-user'],
          groups: headers['x-remote-group'],
          certificate: String(certificate),
        });
        const body = answer(url);
        response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
        response.end(
          JSON.stringify(
            body ?? {
              kind: 'Status',
              apiVersion: 'v1',
              metadata: {},
              status: 'Failure',
              reason: 'NotFound',
              code: 404,
              message: 'no such fruit',
            },
          ),
        );
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const manifest = `
apiVersion: v1
kind: Service
metadata: {name: fruit, namespace: default}
spec: {type: ExternalName, externalName: localhost, ports: [{port: ${port}}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.${GROUP}}
spec:
  group: ${GROUP}
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {namespace: default, name: fruit, port: ${port}}
`;
    const said = await plane.kubectl(['apply', '-f', '-'], manifest);
    assert.equal(said.code, 0, said.stderr);
  });
  after(async () => {
    server?.closeAllConnections();
    server?.close();
    await plane?.stop();
  });

  function answer(url: string): object | undefined {
    const path = url.split('?')[0] ?? '';
    const root = `/apis/${GROUP}/v1`;
    if (path === root) return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${GROUP}/v1`, resources };
    if (path === '/openapi/v2') return document;
    if (path === `/openapi/v3${root}`) return { openapi: '3.0.0', info: {}, paths: {}, components: {} };
    const items = ['cox', 'gala'].map(apple);
    if (path === `${root}/namespaces/default/apples`)
      return { kind: 'AppleList', apiVersion: `${GROUP}/v1`, metadata: { resourceVersion: '1' }, items };
    if (path === `${root}/namespaces/default/apples/cox`) return apple('cox');
    return undefined;
  }

  test('is available, and listed', async () => {
    const said = await plane.kubectl(['wait', '--for=condition=Available', `apiservice/v1.${GROUP}`, '--timeout=120s']);
    assert.equal(said.code, 0, said.stderr);
    const listed = await plane.kubectl(['api-resources', `--api-group=${GROUP}`]);
    assert.match(listed.stdout, /apples +ap +fruit\.example\.com\/v1 +true +Apple/);
    const { status } = await plane.admin.resource(APIServices).get({ name: `v1.${GROUP}` });
    assert.equal(status?.conditions?.[0]?.reason, 'Passed');
  });

  test('is described together with our APIs', async () => {
    // Its documents are fetched after it was found, before it is reported as available.
    const explained = await plane.kubectl(['explain', 'apples.core', '--output=plaintext-openapiv2']);
    assert.match(explained.stdout, /core\s+<string>[\s\S]*what is left of it/);
    const own = await plane.kubectl(['explain', 'pods.spec', '--output=plaintext-openapiv2']);
    assert.equal(own.code, 0, own.stderr);
    const index = await plane.kubectl(['get', '--raw', '/openapi/v3']);
    assert.match(index.stdout, /"apis\/fruit\.example\.com\/v1":\{"serverRelativeURL"/);
  });

  test("is called with the user's name, over the front proxy’s certificate", async () => {
    assert.equal(
      (await plane.kubectl(['get', 'ap', '-o', 'name'])).stdout,
      'apple.fruit.example.com/cox\napple.fruit.example.com/gala',
    );
    const request = asked.findLast(({ url }) => url.includes('/apples'));
    assert.deepEqual([request?.user, request?.certificate], ['kubernetes-admin', 'front-proxy-client']);
    assert.match(String(request?.groups), /system:masters/);
    const missing = await plane.kubectl(['get', 'apple', 'granny']);
    assert.match(missing.stderr, /no such fruit/);
  });

  test('is subject to our authorization first', async () => {
    const said = await plane.kubectl(['get', 'apples', '--as=nobody']);
    assert.match(said.stderr, /apples\.fruit\.example\.com is forbidden: User "nobody" cannot list resource "apples"/);
  });

  test('keeps its group in discovery while its server is away, and nothing else is affected', async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await plane.kubectl(['annotate', 'apiservice', `v1.${GROUP}`, 'look=again']);
    await plane.kubectl([
      'patch',
      'apiservice',
      `v1.${GROUP}`,
      '--type=merge',
      '-p',
      '{"spec":{"versionPriority":16}}',
    ]);
    const said = await plane.kubectl([
      'wait',
      '--for=condition=Available=false',
      `apiservice/v1.${GROUP}`,
      '--timeout=120s',
    ]);
    assert.equal(said.code, 0, said.stderr);
    assert.match(
      (await plane.kubectl(['get', '--raw', `/apis/${GROUP}/v1/namespaces/default/apples`])).stderr,
      /unavailable/,
    );
    assert.equal((await plane.kubectl(['get', 'configmaps'])).code, 0);
  });

  test('is removed with its APIService; the APIs of this server come back', async () => {
    await plane.kubectl(['delete', 'apiservice', `v1.${GROUP}`]);
    assert.match(
      (await plane.kubectl(['get', '--raw', `/apis/${GROUP}/v1`])).stderr,
      /could not find the requested resource/,
    );
    await plane.kubectl(['delete', 'apiservice', 'v1.apps']);
    const back = await plane.kubectl(['wait', '--for=create', 'apiservice/v1.apps', '--timeout=120s']);
    assert.equal(back.code, 0, back.stderr);
    const available = ['wait', '--for=condition=Available', 'apiservice/v1.apps', '--timeout=120s'];
    assert.equal((await plane.kubectl(available)).code, 0);
    const shown = await plane.kubectl(['get', 'apiservice', 'v1.apps', 'v1beta1.metrics.k8s.io', '--no-headers']);
    assert.match(shown.stdout, /v1\.apps +Local +True[^]*v1beta1\.metrics\.k8s\.io +Local +True/);
  });
});
