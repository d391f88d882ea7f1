/** Folders of charts that cannot be made yet. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { makeHelmFolders } from './helm-folders.ts';

test('a file in the place of a folder blocks charts, and nothing else, until it is removed', async () => {
  const platform = createSimPlatform();
  const { clock, files } = platform;
  await files.makeDir('/data');
  await files.writeFile('/data/charts', 'a note');
  await files.makeDir('/run/helm/left');
  let made = false;
  const { signal } = new AbortController();
  const making = makeHelmFolders(platform, { runs: '/run/helm', charts: '/data/charts' }, signal);
  const ended = making.then(() => (made = true));
  await clock.advance(60_000);
  assert.equal(made, false);
  await files.remove('/data/charts');
  await clock.advance(10_000);
  await ended;
  assert.deepEqual([await files.readDir('/data/charts'), await files.readDir('/run/helm')], [[], []]);
});
