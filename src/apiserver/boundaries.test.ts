/** Steps of a request that throw unexpectedly: a 500 Status for that request, logged once with its stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Net } from '../platform/net.ts';
import { startNotedServer } from './authorized-object-fixture.ts';
import {
  DEFINITIONS,
  settle,
  startCustomServer,
  versionOf,
  widget,
  widgetDefinition,
  WIDGETS,
} from './apiextensions/custom-fixture.ts';
import type { TestServer } from './server-fixture.ts';

const broken = (): never => {
  throw new TypeError('broken');
};

const CONFIG_MAPS = '/api/v1/namespaces/a/configmaps';

/** Sends the failing request, and then another one. */
async function assertEndsAlone({ send, platform }: TestServer, path: string, other: string): Promise<void> {
  const answer = await send('GET', path);
  assert.deepEqual([answer.status, answer.body.kind, answer.body.reason], [500, 'Status', 'InternalError']);
  const errors = platform.log.entries.filter(({ level }) => level === 'error');
  assert.deepEqual(
    errors.map(({ message, fields }) => [message, (fields['err'] as Error).name]),
    [['request failed', 'TypeError']],
  );
  assert.equal(platform.metrics.value('keelson_unexpected_errors_total', { component: errors[0]!.component }), 1);
  assert.equal((await send('GET', other)).status, 200);
}

const throughNet: Readonly<Record<string, Net['http']>> = {
  'throws at once': broken,
  'throws later': async () => broken(),
  'gives no answer': async () => undefined as never,
  'gives heads that cannot be read': async () =>
    ({
      status: 200,
      body: (async function* () {})(),
      cancel: () => undefined,
      get headers() {
        return broken();
      },
    }) as never,
};

for (const [what, http] of Object.entries(throughNet))
  test(`a call of an aggregated server that ${what} ends its request alone`, async () => {
    const healthy = async () => ({
      status: 200,
      headers: {},
      cancel: () => undefined,
      body: (async function* () {
        yield Buffer.from('{"resources":[]}');
      })(),
    });
    const net = { http: (call: { url: string }) => (call.url.endsWith('/apples') ? http(call as never) : healthy()) };
    const server = await startNotedServer({
      aggregation: { net: net as unknown as Net, identity: () => ({}), builtIns: [], rejectsRedirects: true },
    });
    await server.send('POST', '/api/v1/namespaces/a/services', {
      metadata: { name: 'fruit' },
      spec: { type: 'ExternalName', externalName: 'fruit' },
    });
    await server.send('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
      metadata: { name: 'v1.fruit.example.com' },
      spec: { group: 'fruit.example.com', version: 'v1', service: { namespace: 'a', name: 'fruit' } },
    });
    await server.platform.clock.settle();
    const path = '/apis/fruit.example.com/v1/namespaces/a/apples';
    await assertEndsAlone(server, path, CONFIG_MAPS);
  });

const conversions = {
  'that throws': async () => broken(),
  'whose answer cannot be read': async () =>
    ({
      get kind() {
        return broken();
      },
    }) as never,
};

for (const [what, post] of Object.entries(conversions))
  test(`a conversion ${what} ends its request alone`, async () => {
    const server = await startCustomServer({ postConversionReview: post });
    const conversion = {
      strategy: 'Webhook',
      webhook: { clientConfig: { url: 'https://hook.example.com' }, conversionReviewVersions: ['v1'] },
    };
    const versions = [versionOf('v1', { type: 'object' }, { storage: false }), versionOf('v2', { type: 'object' })];
    assert.equal(
      (await server.send('POST', DEFINITIONS, widgetDefinition({ type: 'object' }, { versions, conversion }))).status,
      201,
    );
    await settle();
    const v2 = WIDGETS.replace('/v1/', '/v2/');
    await server.send('POST', v2, { ...widget('x', {}), apiVersion: 'example.com/v2' });
    await assertEndsAlone(server, `${WIDGETS}/x`, `${v2}/x`);
  });
