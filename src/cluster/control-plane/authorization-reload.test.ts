import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthorizationAttributes, Authorizer } from '../../apiserver/authz/contract.ts';
import { decide } from '../../apiserver/filters/authorization.ts';
import { parseApiServerOptions } from '../../apiserver/options/api-server-options.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { loadApiServerSetup } from './api-server-setup.ts';
import { authorizersOf } from './authentication.ts';

test('authorizers follow their file; one that cannot be used changes nothing', async () => {
  const platform = createSimPlatform();
  const { clock, files, log } = platform;
  const path = '/authorization.yaml';
  const writeAll = (authorizers: readonly object[]): Promise<void> => {
    const head = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthorizationConfiguration' };
    return files.writeFile(path, JSON.stringify({ ...head, authorizers }));
  };
  const write = (...types: string[]): Promise<void> =>
    writeAll(types.map((type) => ({ type, name: type.toLowerCase() })));
  await write('RBAC');
  const setup = await loadApiServerSetup(platform, parseApiServerOptions({ 'authorization-config': path }), {
    audiences: [],
    servesConsole: false,
  });
  const saying = (reason: string): Authorizer => ({ authorize: () => ({ decision: 'noOpinion', reason }) });
  const authorizers = authorizersOf({ nodes: saying('nodes'), rbac: saying('rbac') }, setup);
  const attributes = { user: { name: 'ann', groups: [] }, verb: 'get' } as unknown as AuthorizationAttributes;
  const asked = async () => decide(authorizers, attributes);
  assert.deepEqual(await asked(), { decision: 'noOpinion', reason: 'rbac' });
  await write('Node', 'RBAC');
  await clock.advance(59_000);
  assert.equal((await asked()).reason, 'rbac');
  await clock.advance(1000);
  assert.equal((await asked()).reason, 'nodes, rbac', 'whoever comes first waits for the look');
  await write('AlwaysAllow');
  await clock.advance(60_000);
  assert.equal((await asked()).decision, 'allow');
  for (const wrong of [
    { type: 'Nobody', name: 'nobody' },
    { type: 'RBAC', name: 'rbac', conditions: [] },
  ]) {
    await writeAll([wrong]);
    await clock.advance(60_000);
    assert.equal((await asked()).decision, 'allow');
  }
  const masters = { ...attributes, user: { name: 'root', groups: ['system:masters'] } };
  assert.equal((await decide(authorizers, masters)).decision, 'allow');
  assert.deepEqual(
    log.entries.filter(({ level }) => level === 'error').map(({ message }) => message),
    Array.from({ length: 2 }, () => 'the authorization configuration cannot be used; the one before stays'),
  );
});
