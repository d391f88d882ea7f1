import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createSimCrypto } from '../../platform/sim/crypto.ts';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { chooseRanges } from './preflight.ts';
import { PreflightError } from '../preflight-error.ts';
import { claimRanges } from './range-claims.ts';

async function setUp(...dataDirs: readonly string[]) {
  const clock = createNodeClock();
  const files = createMemoryFiles({ nowMs: () => 0 });
  await files.makeDir('/proc/self/ns');
  await files.symlink('net:[1]', '/proc/self/ns/net');
  for (const dir of dataDirs) await files.makeDir(dir);
  let held = false;
  const tryLock = () => {
    if (held) return undefined;
    held = true;
    return { release: () => void (held = false) };
  };
  const deps = { files, clock, crypto: createSimCrypto(clock), tryLock };
  const claim = (dataDir: string, asked: { clusterCidr?: string; serviceCidr?: string } = {}) =>
    claimRanges(deps, dataDir, async (taken) => {
      await clock.yield(); // Asynchronous, as reading the kernel's routes is.
      return chooseRanges(asked, [], taken);
    });
  return { files, claim };
}

test('instances that choose at the same moment choose different ranges', async () => {
  const { claim } = await setUp('/a', '/b', '/c');
  const chosen = await Promise.all(['/a', '/b', '/c'].map((dir) => claim(dir)));
  const all = chosen.flatMap(({ clusterCidr, serviceCidr }) => [clusterCidr, serviceCidr]);
  assert.equal(new Set(all).size, 6, all.join());
  assert.deepEqual(all.slice(0, 2), ['10.42.0.0/16', '10.43.0.0/16']);
});

test('a range in use is refused with its owner, in either family', async () => {
  const { claim } = await setUp('/a', '/b');
  await claim('/a', { clusterCidr: '10.1.0.0/16,fd42::/56', serviceCidr: '10.2.0.0/16,fd43::/112' });
  await assert.rejects(
    claim('/b', { clusterCidr: '10.9.0.0/16,fd42::/64', serviceCidr: '10.10.0.0/16,fd44::/112' }),
    (error) =>
      error instanceof PreflightError && /overlaps fd42::\/56, which the cluster in \/a has;/.test(error.message),
  );
});

test('a later start of the same cluster, another network namespace and stopped clusters are no conflict', async () => {
  const { claim, files } = await setUp('/a', '/b');
  const first = await claim('/a');
  assert.deepEqual(await claim('/a'), first);
  await files.remove('/proc/self/ns/net');
  await files.symlink('net:[2]', '/proc/self/ns/net');
  assert.deepEqual(await claim('/b'), first);
  await files.remove('/b');
  assert.deepEqual(await claim('/c'), first);
});
