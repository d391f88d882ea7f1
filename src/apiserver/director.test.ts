/** Unauthenticated requests of any number: unknown paths must be cheap. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../platform/sim/log.ts';
import { ConfigMaps, Deployments } from '../api/gen/resources.ts';
import { createDirector, type DirectorDeps } from './director.ts';
import { ResourceRegistry } from './generic-registry/resource-registry.ts';
import type { RegistryServices } from './generic-registry/services.ts';
import { defineResource } from './registry/define-resource.ts';
import { parseRequestInfo } from './request-info.ts';
import { RequestScope } from './request-scope.ts';

const services = { hub: { cache: () => undefined } } as unknown as RegistryServices;

function scopeOf(path: string): RequestScope {
  const params = new URLSearchParams();
  const request = { method: 'GET', path, query: '', headers: {}, signal: new AbortController().signal };
  const user = { name: 'u', groups: [] };
  const info = parseRequestInfo({ method: 'GET', path, params });
  return new RequestScope({ request: request as unknown as RequestScope['request'], info, params, user });
}

test('an unknown path below /apis is answered without a loop over the served resources', () => {
  const registry = new ResourceRegistry(createMemoryLog());
  registry.add([defineResource(Deployments), defineResource(ConfigMaps)], services, () => true);
  registry.add(
    [{ ...defineResource(Deployments), info: { ...Deployments, group: 'unserved' } }],
    services,
    () => false,
  );
  Object.defineProperty(registry, 'served', { get: () => assert.fail('all are looked at') });
  const deps = { registry, routes: { find: () => undefined }, aggregated: () => undefined };
  const { handle } = createDirector(deps as unknown as DirectorDeps);
  const isText = (path: string): boolean => {
    try {
      const answer = handle(scopeOf(path));
      return 'status' in answer && answer.status === 404;
    } catch {
      return false; // A Status, as the group's own paths have.
    }
  };
  for (const path of ['/apis/nobody/v1/things', '/apis/unserved/v1/deployments', '/nothing'])
    assert.ok(isText(path), path);
  assert.equal(isText('/apis/apps/v1/nothing'), false);
  registry.remove([Deployments]);
  registry.remove([Deployments]);
  assert.ok(isText('/apis/apps/v1/nothing'));
});
