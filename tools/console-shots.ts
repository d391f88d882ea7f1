// `npm run console:shots`: pictures of the console's views, light, dark and narrow, into .cache/console-shots/. A view that
// is added gets a line in `shots`.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { openBrowser } from '../test/console/browser.ts';
import { startDemoCluster } from '../test/console/demo-cluster.ts';
import { build } from './build.ts';
import { repositoryRoot } from './repository.ts';

/** Names of pictures, the addresses they are of, and keys to press there. */
const shots: readonly { readonly name: string; readonly at: string; readonly keys?: readonly string[] }[] = [
  { name: 'overview', at: '#/' },
  { name: 'pods', at: '#/list/pods?ns=shop' },
  { name: 'nodes', at: '#/list/nodes' },
  { name: 'filter', at: '#/list/pods?q=front', keys: ['j', 'j'] },
  { name: 'topology', at: '#/topology/nodes?group=zone&fill=cpu' },
  { name: 'services', at: '#/topology/services?ns=shop' },
  { name: 'policies', at: '#/topology/policies?ns=shop&from=shop%2Fledger&to=shop%2Forders-0' },
  { name: 'volumes', at: '#/topology/volumes?ns=shop' },
  { name: 'charts', at: '#/charts/deployments.apps?ns=shop' },
  { name: 'charts-api', at: '#/charts/api' },
  { name: 'object', at: '#/object/deployments.apps/shop/front' },
  { name: 'edit', at: '#/object/deployments.apps/shop/front?tab=yaml&edit=1' },
  { name: 'palette', at: '#/list/events?ns=shop', keys: [':', 'd', 'e'] },
  { name: 'keys', at: '#/list/deployments.apps', keys: ['?'] },
];

const looks = [
  { name: 'light', dark: false, width: 1280, height: 800 },
  { name: 'dark', dark: true, width: 1280, height: 800 },
  { name: 'narrow', dark: false, width: 320, height: 640 },
];

const folder = join(repositoryRoot, '.cache', 'console-shots');
mkdirSync(folder, { recursive: true });
await build(repositoryRoot);
await using cluster = await startDemoCluster();
const only = process.argv[2];
for (const { name: look, ...options } of looks) {
  await using browser = await openBrowser(options);
  const { page, problems } = browser;
  await page.goto(await cluster.console());
  await page.locator('#content').waitFor();
  if (look === looks[0]!.name) await page.waitForTimeout(15_000); // let things go wrong
  for (const { name, at, keys = [] } of shots) {
    if (only !== undefined && only !== name) continue;
    await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
    await page.waitForTimeout(1500);
    for (const key of keys) await page.keyboard.press(key);
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    await page.keyboard.press('Escape');
  }
  for (const problem of problems) console.error(`${look}: ${problem}`);
}
console.log(folder);
