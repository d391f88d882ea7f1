import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SimulatedTime } from '../../src/cli/simulated-time.ts';
import { Nodes } from '../../src/api/gen/resources.ts';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createMemoryLog } from '../../src/platform/sim/log.ts';
import { simulationRoutes } from '../../src/testing/simulation/simulation-route.ts';
import { Cluster } from '../../src/testing/index.ts';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { historyInMemory } from './history-in-memory.ts';
import { accountWith, goTo } from './pod-world.ts';

async function startSimulation(): Promise<{ cluster: Cluster; time: SimulatedTime }> {
  const time = new SimulatedTime({ clock: createNodeClock(), log: createMemoryLog() }, 1);
  const started: { cluster?: Cluster } = {};
  const routes = simulationRoutes({ cluster: () => started.cluster, clock: time.running, recording: undefined });
  const cluster = await Cluster.start({ ...time.options, nodes: 2, routes, history: historyInMemory });
  started.cluster = cluster;
  await cluster.listen({ timeRuns: true });
  time.start(cluster);
  return { cluster, time };
}

test(
  "a simulation's clock is paused, stepped and run, and machines are broken and repaired by hand",
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    const { cluster, time } = await startSimulation();
    await using _ = { [Symbol.asyncDispose]: async () => (await time.stop(), await cluster.stop()) };
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/list/nodes');
    await page.keyboard.press('T');
    const bar = page.getByRole('region', { name: 'Simulation' });
    await bar.getByRole('button', { name: 'Pause' }).click();
    await bar.getByText('paused').waitFor();
    const stoodMs = cluster.nowMs;
    await bar.getByLabel('Size of a step').selectOption('1 h');
    await bar.getByRole('button', { name: 'Step' }).click();

    for (let tries = 0; Math.round((cluster.nowMs - stoodMs) / 1000) < 3600 && tries < 200; tries++)
      await page.waitForTimeout(50);
    assert.equal(Math.round((cluster.nowMs - stoodMs) / 1000), 3600);
    await bar.getByText('paused').waitFor();
    await bar.getByLabel('Speed', { exact: true }).selectOption('×1,000');
    await bar.getByRole('button', { name: 'Run' }).click();
    await bar.getByText(/reached: ×[\d,.]{3,}/).waitFor();
    assert.ok(cluster.nowMs - stoodMs > 3_600_000, 'time went on');
    await bar.getByLabel('Speed', { exact: true }).selectOption('×10');
    assert.deepEqual(await accessibilityProblems(page), []);

    await page.evaluate(() => (location.hash = '#/object/nodes/-/node-1'));
    const faults = page.getByRole('region', { name: 'Faults of this simulated machine' });
    await faults.getByText('nothing is broken').waitFor();
    await faults.getByRole('button', { name: 'Cut off the network' }).click();
    await faults.getByText('cut off from the network').waitFor();
    await bar.getByText('node-1 (cut off from the network)').waitFor();
    await page
      .locator('.object')
      .getByText(/NodeStatusUnknown|NotReady|Unknown/)
      .first()
      .waitFor({ timeout: 60_000 });
    await faults.getByRole('button', { name: 'Join the network' }).click();
    await faults.getByText('nothing is broken').waitFor();
    await faults.getByRole('button', { name: 'Cut the power' }).click();
    await faults.getByText('no power').waitFor();
    await faults.getByRole('button', { name: 'Start' }).click();
    await faults.getByText('nothing is broken').waitFor();
    assert.equal(cluster.peek(Nodes).length, 2);
    assert.deepEqual(problems, []);

    // A user without the role sees no simulation controls.
    await page.getByRole('button', { name: 'Sign out' }).click();
    const { url, token } = await accountWith(cluster, 'view'); // tokens expire by simulated time
    await page.goto(url, { waitUntil: 'commit' });
    await page.getByLabel('Bearer token').fill(token);
    await page.keyboard.press('Enter');
    await page.locator('nav.menu').waitFor();
    await page.keyboard.press('T');
    await page.getByRole('region', { name: 'Moment that is shown' }).waitFor();
    assert.equal(await bar.count(), 0);
  },
);
