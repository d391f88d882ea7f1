// `npm run console:shots`: screenshots of the console's views, light, dark, narrow and on a large screen, into
// .cache/console-shots/. A new view needs a line in `shots`.
//
//   node tools/console-shots.ts [NAME] [LOOK]    all of them, or some: `-` stands for all names
//   node tools/console-shots.ts --docs [NAME]    those of docs/console.md, compressed, into docs/images/console/
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Page } from 'playwright-core';

import { openBrowser } from '../test/console/browser.ts';
import { startDemoCluster } from '../test/console/demo-cluster.ts';
import { goTo } from '../test/console/pod-world.ts';
import { build } from './build.ts';
import { repositoryRoot } from './repository.ts';

interface Shot {
  readonly name: string;
  readonly at: string;
  /** Keys to press on the page. */
  readonly keys?: readonly string[];
  /** Names of buttons to click on the page. */
  readonly clicks?: readonly string[];
}

const shots: readonly Shot[] = [
  { name: 'overview', at: '#/' },
  { name: 'pods', at: '#/list/pods?ns=shop' },
  { name: 'nodes', at: '#/list/nodes' },
  { name: 'filter', at: '#/list/pods?q=front', keys: ['j', 'j'] },
  { name: 'topology', at: '#/topology/nodes?group=zone&fill=cpu' },
  { name: 'services', at: '#/topology/services?ns=shop' },
  { name: 'policies', at: '#/topology/policies?ns=shop&from=shop%2Fledger&to=shop%2Forders-0' },
  { name: 'volumes', at: '#/topology/volumes?ns=shop' },
  { name: 'past', at: '#/list/pods?ns=shop&at=THEN' },
  { name: 'past-overview', at: '#/?at=THEN' },
  { name: 'pod', at: '#/pod/pods/shop/orders-0' },
  { name: 'logs', at: '#/logs/statefulsets.apps/shop/orders' },
  { name: 'shell', at: '#/shell/pods/shop/orders-0' },
  { name: 'files', at: '#/files/pods/shop/orders-0' },
  { name: 'node', at: '#/object/nodes/-/node-1' },
  { name: 'charts', at: '#/charts/deployments.apps?ns=shop' },
  { name: 'charts-api', at: '#/charts/api' },
  { name: 'object', at: '#/object/deployments.apps/shop/front' },
  { name: 'yaml', at: '#/object/deployments.apps/shop/front?tab=yaml' },
  { name: 'history', at: '#/object/deployments.apps/shop/front?tab=history' },
  { name: 'broken', at: '#/object/pods/shop/too-large' },
  { name: 'charts-nodes', at: '#/charts/nodes' },
  { name: 'charts-pod', at: '#/charts/pods/shop/orders-0' },
  { name: 'scale', at: '#/object/deployments.apps/shop/front', clicks: ['Scale'] },
  { name: 'rollback', at: '#/object/deployments.apps/shop/front', clicks: ['Roll back'] },
  { name: 'drain', at: '#/object/nodes/-/node-1', clicks: ['Drain'] },
  { name: 'simulation', at: '#/list/nodes', keys: ['T'] },
  { name: 'edit', at: '#/object/deployments.apps/shop/front?tab=yaml&edit=1' },
  { name: 'palette', at: '#/list/events?ns=shop', keys: [':', 'd', 'e'] },
  { name: 'keys', at: '#/list/deployments.apps', keys: ['?'] },
  { name: 'menu', at: '#/list/services', clicks: ['Menu'] },
  { name: 'sign-in', at: '#/list/services', clicks: ['Menu', 'Sign out'] },
];

/** Evaluated in the page: whether all requested data has arrived. */
const IS_DRAWN = `![...document.querySelectorAll('#content p, #content .liveness')].some(({ textContent }) =>
  /^(?:Loading|Asking why …|loading|connection lost, trying again)$/.test(textContent ?? ''))`;

const PATIENCE_MS = 60_000;

/** Returns false at the timeout. Polls from here, because the page's policy forbids evaluating a condition from text. */
async function isDrawn(page: Page): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += 200) {
    if (await page.evaluate(IS_DRAWN)) return true;
    await page.waitForTimeout(200);
  }
  return false;
}

const looks = [
  { name: 'light', dark: false, width: 1280, height: 800 },
  { name: 'dark', dark: true, width: 1280, height: 800 },
  { name: 'narrow', dark: false, width: 320, height: 640 },
  { name: 'narrow-dark', dark: true, width: 320, height: 640 },
  { name: '4k', dark: false, width: 3840, height: 2160 },
];

/** Screenshots of docs/console.md, and whether they are dark. */
const inDocs: Readonly<Record<string, boolean>> = {
  overview: false,
  pods: true,
  object: false,
  topology: true,
  charts: false,
  past: true,
};
const isForDocs = process.argv[2] === '--docs';
const [only = '-', onlyLook] = process.argv.slice(isForDocs ? 3 : 2);
const folder = join(repositoryRoot, ...(isForDocs ? ['docs', 'images', 'console'] : ['.cache', 'console-shots']));
mkdirSync(folder, { recursive: true });
await build(repositoryRoot);
await using cluster = await startDemoCluster();
await cluster.advance('20s'); // lets the planted faults take effect
const then = new Date(cluster.nowMs - 8000).toISOString();
for (const { name: look, ...options } of looks) {
  const wanted = shots.filter(
    ({ name }) =>
      (only === '-' || only === name) && (!isForDocs || (options.width === 1280 && inDocs[name] === options.dark)),
  );
  if (onlyLook !== undefined && onlyLook !== look) continue;
  if (wanted.length === 0) continue;
  await using browser = await openBrowser(options);
  const { page, problems, context } = browser;
  page.setDefaultTimeout(120_000);
  await goTo(page, await cluster.console(), '#/');
  for (const { name, at, keys = [], clicks = [] } of wanted) {
    await page.evaluate(`location.hash = ${JSON.stringify(at.replace('THEN', encodeURIComponent(then)))}`);
    // Charts have rates from their second sample on, and a busy machine draws late.
    await page.waitForTimeout(isForDocs ? 20_000 : 1500);
    if (!(await isDrawn(page))) console.error(`${look}: ${name} was not there in time`);
    for (const key of keys) await page.keyboard.press(key);
    for (const button of clicks) {
      const found = page.getByRole('button', { name: button, exact: true });
      if (await found.isVisible()) await found.click(); // only narrow screens have the menu's button
    }
    await page.waitForTimeout(300);
    if (isForDocs) {
      const session = await context.newCDPSession(page);
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
      writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'));
    } else await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    await page.keyboard.press('Escape');
    if (keys.includes('T')) await page.keyboard.press('T');
  }
  for (const problem of problems) console.error(`${look}: ${problem}`);
}
console.log(folder);
