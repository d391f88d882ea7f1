/** `npm run test:world`: every project is installed, used and deleted, then memory and disk come back. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../integration/fixtures/until.ts';
import { leadChart } from './chart-life.ts';
import { leadHooks } from './hooks-life.ts';
import { install, must, remove } from './life.ts';
import { projects } from './projects/list.ts';
import { startWorld, type World } from './world-fixture.ts';

const MEGABYTE = 1024 * 1024;
/** What the process may have more than before the first project: code that is warm, and pages that V8 keeps. */
const MORE_RESIDENT_BYTES = 120 * MEGABYTE;
/** Live objects and the history of ten minutes are less than half of this. */
const STORE_BYTES = 64 * MEGABYTE;
const REST_MS = 15 * 60_000;

describe('the world', () => {
  let world: World;
  let residentBefore: number;
  before(async () => {
    world = await startWorld();
    residentBefore = await world.residentBytes();
  });
  after(() => world?.stop());

  for (const project of projects) {
    if (project.isLarge !== true)
      test(`${project.name}: installed client-side, and again`, async () => {
        await install(world, project, 'client-side');
        await install(world, project, 'client-side');
      });
    test(`${project.name}: installed server-side, and again`, async () => {
      await install(world, project, 'server-side');
      await install(world, project, 'server-side');
    });
  }

  test('what is installed is explained and listed by category', async () => {
    assert.match(await must(world, ['explain', 'applicationsets.spec.group0.ports']), /list-type|<\[\]Object>/);
    assert.match(await must(world, ['get', 'world', '-A', '-o', 'name']), /databases?\.operator\.world\.example\/db-0/);
  });

  test('a chart is installed, tested, upgraded, rolled back and uninstalled', () => leadChart(world));

  test('webhooks that answer change, refuse and convert', () => leadHooks(world));

  for (const project of projects.toReversed()) test(`${project.name}: deleted`, () => remove(world, project));

  test('memory and disk come back', async () => {
    await until(
      'the process is small again',
      async () => (await world.residentBytes()) <= residentBefore + MORE_RESIDENT_BYTES,
      REST_MS,
    );
    await until('the store is small again', async () => (await world.storeBytes()) <= STORE_BYTES, REST_MS);
  });
});
