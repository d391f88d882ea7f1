/** The effect of webhooks with a server, as users see it. */
import assert from 'node:assert/strict';
import { install, must, remove } from './life.ts';
import { listOf, manifest } from './manifest.ts';
import { hooks } from './projects/hooks.ts';
import { FORBIDDEN_IMAGE, SEEN, startWebhookServer } from './webhook-server.ts';
import type { World } from './world-fixture.ts';

const V1 = 'sites.v1.hooks.world.example';
const V1BETA1 = 'sites.v1beta1.hooks.world.example';

/** Installs the project client-side and server-side, twice each, reads it in both versions, checks refusals, deletes it. */
export async function leadHooks(world: World): Promise<void> {
  const server = await startWebhookServer();
  try {
    const project = hooks(server.url);
    for (const way of ['client-side', 'client-side', 'server-side', 'server-side'] as const)
      await install(world, project, way);
    const read = (resource: string, field: string) =>
      must(world, [
        'get',
        resource,
        '-n',
        'hooks',
        '-o',
        `jsonpath={range .items[*]}{.metadata.name}={${field}} {end}`,
      ]);
    assert.equal(await read(V1, '.spec.replicas'), 'kept=1 new=2 old=3 ');
    assert.equal(await read(V1BETA1, '.spec.size'), 'kept=1 new=2 old=3 ');
    const label = `.metadata.labels.${SEEN.replaceAll('.', '\\.')}`;
    assert.equal(await read(V1, label), 'kept=yes new=yes old=yes ');
    await must(world, ['patch', V1BETA1, 'old', '-n', 'hooks', '--type=merge', '-p', '{"spec":{"size":7}}']);
    assert.match(await read(V1, '.spec.replicas'), /old=7/);
    await refuse(world);
    await remove(world, project);
    for (const path of ['/mutate', '/validate', '/convert']) assert.ok((server.calls.get(path) ?? 0) > 5, path);
  } finally {
    await server.stop();
  }
}

/** Refusals by the validating webhook, in both versions and for all kinds of writes. */
async function refuse(world: World): Promise<void> {
  for (const version of ['v1', 'v1beta1']) {
    const spec = { image: FORBIDDEN_IMAGE };
    const site = manifest(`hooks.world.example/${version}`, 'Site', { name: 'bad', namespace: 'hooks' }, { spec });
    for (const flags of [['create'], ['apply', '--server-side'], ['create', '--dry-run=server']]) {
      const { code, stderr } = await world.kubectl([...flags, '-f', '-'], listOf([site]));
      assert.equal(code, 1, stderr);
      assert.match(
        stderr,
        /admission webhook "validate\.hooks\.world\.example" denied the request: this image is not for sites/,
      );
    }
  }
}
