// `npm run console:shots`: pictures of the console's views, light, dark and narrow, into .cache/console-shots/. A view that
// is added gets a line in `shots`.
//
//   node tools/console-shots.ts [NAME]    all of them, or one
//   node tools/console-shots.ts --docs    those of docs/console.md, compressed, into docs/images/console/
import { mkdirSync, writeFileSync } from 'node:fs';
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
  { name: 'edit', at: '#/object/deployments.apps/shop/front?tab=yaml&edit=1' },
  { name: 'palette', at: '#/list/events?ns=shop', keys: [':', 'd', 'e'] },
  { name: 'keys', at: '#/list/deployments.apps', keys: ['?'] },
];

/** Within the page: whether all that is asked for has come. */
const IS_DRAWN = `![...document.querySelectorAll('#content p, #content .liveness')].some(({ textContent }) =>
  /^(?:Loading|Asking why …|loading|connection lost, trying again)$/.test(textContent ?? ''))`;

const looks = [
  { name: 'light', dark: false, width: 1280, height: 800 },
  { name: 'dark', dark: true, width: 1280, height: 800 },
  { name: 'narrow', dark: false, width: 320, height: 640 },
];

/** Pictures of docs/console.md, and whether they are dark. */
const inDocs: Readonly<Record<string, boolean>> = {
  overview: false,
  pods: true,
  object: false,
  topology: true,
  charts: false,
  past: true,
};
const isForDocs = process.argv[2] === '--docs';
const only = isForDocs ? undefined : process.argv[2];
const folder = join(repositoryRoot, ...(isForDocs ? ['docs', 'images', 'console'] : ['.cache', 'console-shots']));
mkdirSync(folder, { recursive: true });
await build(repositoryRoot);
await using cluster = await startDemoCluster();
await cluster.advance('20s'); // Things go wrong meanwhile.
const then = new Date(cluster.nowMs - 8000).toISOString();
for (const { name: look, ...options } of looks) {
  const wanted = shots.filter(({ name }) =>
    isForDocs ? look !== 'narrow' && inDocs[name] === options.dark : only === undefined || only === name,
  );
  if (wanted.length === 0) continue;
  await using browser = await openBrowser(options);
  const { page, problems, context } = browser;
  page.setDefaultTimeout(120_000);
  await page.goto(await cluster.console(), { waitUntil: 'commit' });
  await page.locator('#content').waitFor();
  for (const { name, at, keys = [] } of wanted) {
    await page.evaluate(`location.hash = ${JSON.stringify(at.replace('THEN', encodeURIComponent(then)))}`);
    // Charts have rates from their second sample on, and a busy machine draws late.
    await page.waitForTimeout(isForDocs ? 20_000 : 1500);
    await page.waitForFunction(IS_DRAWN).catch(() => console.error(`${look}: ${name} was not there in time`));
    for (const key of keys) await page.keyboard.press(key);
    await page.waitForTimeout(300);
    if (isForDocs) {
      const session = await context.newCDPSession(page);
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
      writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'));
    } else await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    await page.keyboard.press('Escape');
  }
  for (const problem of problems) console.error(`${look}: ${problem}`);
}
console.log(folder);
