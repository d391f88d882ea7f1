/** Puts `{"toString":0}` in the place of each part of a body: `String` throws for this value. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '../api/codec/own-property.ts';
import { startWithWidgets, WIDGETS, widget } from './apiextensions/custom-fixture.ts';
import { startTestServer, type TestServer } from './server-fixture.ts';

const UNPRINTABLE = { toString: 0, valueOf: 0 };
const PODS = '/api/v1/namespaces/default/pods';
const pod = (name: string): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: 'web' }, finalizers: ['example.com/a'], ownerReferences: [] },
  spec: {
    containers: [{ name: 'main', image: 'image', ports: [{ containerPort: 80 }], resources: { limits: { cpu: '1' } } }],
    tolerations: [{ key: 'a', operator: 'Exists' }],
  },
});

/** The paths of all parts of a value. */
function* paths(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (path.length > 0) yield path;
  if (Array.isArray(value)) for (const [at, item] of value.entries()) yield* paths(item, [...path, String(at)]);
  else if (isObject(value)) for (const [name, part] of Object.entries(value)) yield* paths(part, [...path, name]);
}

/** A copy with another value at a path. */
function replaced(value: unknown, [first, ...rest]: readonly string[], part: unknown): unknown {
  if (first === undefined) return part;
  if (Array.isArray(value)) return value.with(Number(first), replaced(value[Number(first)], rest, part));
  const object = value as Record<string, unknown>;
  return { ...object, [first]: replaced(object[first], rest, part) };
}

const PATCHES: Readonly<Record<string, (path: readonly string[]) => unknown>> = {
  'application/json-patch+json': (path) => [{ op: 'add', path: `/${path.join('/')}`, value: UNPRINTABLE }],
  'application/merge-patch+json': (path) => replaced(pod('there'), path, UNPRINTABLE),
  'application/strategic-merge-patch+json': (path) => replaced(pod('there'), path, UNPRINTABLE),
  'application/apply-patch+yaml': (path) => replaced(pod('there'), path, UNPRINTABLE),
};

const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const openAPIV3Schema = { type: 'object', properties: { spec: free, status: free } };
const scale = {
  specReplicasPath: '.spec.size',
  statusReplicasPath: '.status.size',
  labelSelectorPath: '.status.selector',
};
const withScale = {
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema },
  subresources: { status: {}, scale },
  additionalPrinterColumns: [{ name: 'Size', type: 'integer', jsonPath: '.spec.size' }],
};
const sized = (name: string, size: unknown = 1): Record<string, unknown> => ({
  ...widget(name, { size, colour: 'grey' }),
  metadata: { name, namespace: 'default' },
  status: { size: 1, selector: 'app=widget' },
});

async function check(server: TestServer, request: Parameters<TestServer['send']>): Promise<void> {
  const { status, body } = await server.send(...request);
  // Upstream's response to a configuration of another kind.
  const isUntyped = status === 500 && String(body.message).startsWith('failed to create typed patch object');
  assert.ok(
    (status < 500 || isUntyped) && status !== 404,
    `${request[0]} ${JSON.stringify(request[2])}: ${JSON.stringify(body)}`,
  );
}

test('a value that String throws for is a fault of the client, at any path', async () => {
  const server = await startTestServer();
  assert.equal((await server.send('POST', PODS, pod('there'))).status, 201);
  for (const path of paths(pod('there'))) {
    await check(server, ['POST', PODS, replaced(pod('new'), path, UNPRINTABLE)]);
    await check(server, ['PUT', `${PODS}/there`, replaced(pod('there'), path, UNPRINTABLE)]);
    for (const [type, patch] of Object.entries(PATCHES))
      await check(server, ['PATCH', `${PODS}/there?fieldManager=test`, patch(path), { 'content-type': type }]);
  }
  for (const path of paths({
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds: 0,
    preconditions: { uid: 'a' },
  }))
    await check(server, ['DELETE', `${PODS}/there?dryRun=All`, replaced({ preconditions: {} }, path, UNPRINTABLE)]);
});

test("a scale of a custom resource that is no number, or one beyond 2^53, is refused in upstream's words", async () => {
  const server = await startWithWidgets({}, { versions: [withScale] });
  assert.equal((await server.send('POST', WIDGETS, sized('there'))).status, 201);
  for (const path of paths(sized('there'))) {
    await check(server, ['POST', WIDGETS, replaced(sized('new'), path, UNPRINTABLE)]);
    await check(server, ['PUT', `${WIDGETS}/there`, replaced(sized('there'), path, UNPRINTABLE)]);
    const patch = replaced(sized('there'), path, UNPRINTABLE);
    const type = { 'content-type': 'application/merge-patch+json' };
    await check(server, ['PATCH', `${WIDGETS}/there/status`, patch, type]);
  }
  const messageOf = async (size: string): Promise<string> => {
    const text = JSON.stringify(sized('another', 'SIZE')).replace('"SIZE"', size);
    return (await server.send('POST', WIDGETS, text)).body.message;
  };
  assert.match(
    await messageOf('{"a":1}'),
    /\.spec\.size accessor error: map\[a:1\] is of the type map\[string\]interface \{\}, expected int64/,
  );
  assert.match(await messageOf('9007199254740993'), /9007199254740993: should be less than or equal to 2147483647/);
});
