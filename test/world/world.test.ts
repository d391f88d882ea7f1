/** `npm run test:world`: every project is installed, used and deleted; afterwards memory and disk space must be released. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../integration/fixtures/until.ts';
import { leadChart } from './chart-life.ts';
import { leadHooks } from './hooks-life.ts';
import { install, must, remove } from './life.ts';
import { projects } from './projects/list.ts';
import { startWorld, type World } from './world-fixture.ts';

const MEGABYTE = 1024 * 1024;
/** The limit beyond live memory: code and free pages of V8 and of the C heap, SQLite's cache, the heaps of threads. */
const MORE_THAN_ALIVE_BYTES = 120 * MEGABYTE;
/** The limit beyond the process before the first project: compiled code, and the history of ten minutes. */
const MORE_THAN_BEFORE_BYTES = 80 * MEGABYTE;
/** The limit of free pages in the store's file, in addition to as much as its content. */
const SPARE_STORE_BYTES = 4 * MEGABYTE;
const REST_MS = 5 * 60_000;
/** The interval between two measurements of the resting process. */
const LOOK_PERIOD_MS = 15_000;

describe('the world', () => {
  let world: World;
  let residentAtStart: number;
  before(async () => {
    world = await startWorld();
    residentAtStart = (await world.memory()).resident;
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

  test('installed kinds are explained, and listed by category', async () => {
    assert.match(await must(world, ['explain', 'applicationsets.spec.group0.ports']), /list-type|<\[\]Object>/);
    assert.match(await must(world, ['get', 'world', '-A', '-o', 'name']), /databases?\.operator\.world\.example\/db-0/);
  });

  test('a chart is installed, tested, upgraded, rolled back and uninstalled', () => leadChart(world));

  test('webhooks with a server change, refuse and convert', () => leadHooks(world));

  for (const project of projects.toReversed()) test(`${project.name}: deleted`, () => remove(world, project));

  test('memory and disk space are released', async (t) => {
    const isSmall = async (): Promise<boolean> => {
      await sleep(LOOK_PERIOD_MS);
      const { resident, alive } = await world.memory();
      t.diagnostic(`resident ${inMegabytes(resident)}, alive ${inMegabytes(alive)}`);
      return resident <= Math.min(alive + MORE_THAN_ALIVE_BYTES, residentAtStart + MORE_THAN_BEFORE_BYTES);
    };
    await until('the process is small again', isSmall, REST_MS);
    const isStoreSmall = async (): Promise<boolean> => {
      const { size, content } = await world.store();
      t.diagnostic(`the store ${inMegabytes(size)}, its content ${inMegabytes(content)}`);
      return size <= 2 * content + SPARE_STORE_BYTES;
    };
    await until('the store is small again', isStoreSmall, REST_MS);
  });
});

function inMegabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}
