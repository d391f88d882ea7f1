/** Some projects of test/world installed, used and deleted, as in `npm run test:world`: those with few and small definitions. */
import { after, before, describe, test } from 'node:test';
import { leadHooks } from '../world/hooks-life.ts';
import { install, remove } from '../world/life.ts';
import { autoscaler } from '../world/projects/autoscaler.ts';
import { operator } from '../world/projects/operator.ts';
import { serviceMesh } from '../world/projects/service-mesh.ts';
import { startWorld, type World } from '../world/world-fixture.ts';

describe('projects of the world', () => {
  let world: World;
  before(async () => (world = await startWorld()));
  after(() => world?.stop());

  for (const project of [operator, serviceMesh, autoscaler]) {
    test(`${project.name}: installed client-side, then server-side, used and deleted without an error or warning`, async () => {
      await install(world, project, 'client-side');
      await install(world, project, 'server-side');
      await remove(world, project);
    });
  }

  test('webhooks with a server change, refuse and convert', () => leadHooks(world));
});
