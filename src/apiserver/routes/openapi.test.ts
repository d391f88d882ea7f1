/** Hundreds of clients that ask for the OpenAPI document while it is being made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMaps } from '../../api/gen/resources.ts';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import type { RegistryServices } from '../generic-registry/services.ts';
import { defineResource } from '../registry/define-resource.ts';
import { parseRequestInfo } from '../request-info.ts';
import { RequestScope } from '../request-scope.ts';
import { openApiRoutes } from './openapi.ts';

const services = { hub: { cache: () => undefined } } as unknown as RegistryServices;

function routes() {
  const registry = new ResourceRegistry(createMemoryLog());
  registry.add([defineResource(ConfigMaps)], services, () => true);
  return openApiRoutes({ registry, gitVersion: 'v1.36.0', clock: new VirtualClock() });
}

function scopeOf(path: string, turn: ApiRequest['turn']): RequestScope {
  const params = new URLSearchParams();
  const request = { method: 'GET', path, query: '', headers: {}, turn, signal: new AbortController().signal };
  const user = { name: 'u', groups: [] };
  const info = parseRequestInfo({ method: 'GET', path, params });
  return new RequestScope({ request: request as unknown as ApiRequest, info, params, user });
}

const chunksOf = (answer: ApiResponse): readonly Uint8Array[] => (answer.kind === 'bytes' ? answer.chunks : []);

test('requests that waited for the document continue in turns of their own, and all send the same bytes', async () => {
  const { serve } = routes().find(({ path }) => path === '/openapi/v2')!;
  let asked = 0;
  const turn = async (): Promise<void> => {
    asked++;
  };
  const ask = async (): Promise<readonly Uint8Array[]> => chunksOf(await serve(scopeOf('/openapi/v2', turn)));
  const answers = await Promise.all(Array.from({ length: 240 }, ask));
  assert.ok(asked >= 240, `${asked} turns`);
  const [first] = answers[0]!;
  assert.match(Buffer.from(first!).toString(), /^\{"swagger":"2.0"/);
  for (const chunks of answers) assert.equal(chunks[0], first);
  const before = asked;
  await ask();
  assert.equal(asked, before, 'nobody waits for what is there');
});

test('documents of one group version send the same bytes, too', async () => {
  const { serve } = routes().find(({ path }) => path === '/openapi/v3')!;
  const ask = async (): Promise<readonly Uint8Array[]> =>
    chunksOf(await serve(scopeOf('/openapi/v3/api/v1', undefined)));
  const [one, other] = [await ask(), await ask()];
  assert.ok(one[0] !== undefined);
  assert.equal(one[0], other[0]);
});
