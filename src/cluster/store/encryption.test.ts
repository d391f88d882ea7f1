import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNodeCrypto } from '../../platform/node/crypto.ts';
import { createMemoryFiles } from '../../platform/sim/files.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createMemoryMetrics } from '../../platform/sim/metrics.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { encryptStore } from './encryption.ts';

const configuration = (...names: string[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['secrets'],
        providers: [{ aescbc: { keys: names.map((name) => ({ name, secret: secretOf(name) })) } }],
      },
    ],
  });
const secretOf = (name: string): string => Buffer.alloc(32, name).toString('base64');

test('a changed configuration counts within a minute; one that cannot be used changes nothing', async () => {
  const clock = new VirtualClock();
  const files = createMemoryFiles({ nowMs: () => clock.nowMs() });
  const log = createMemoryLog();
  const plain = createMemoryStore({ clock });
  const platform = { clock, files, log, crypto: createNodeCrypto(), random: createSeededRandom(1) };
  await files.writeFileAtomic('/c', configuration('a'), {});
  const store = await encryptStore({ ...platform, metrics: createMemoryMetrics() }, plain, {
    file: '/c',
    reload: true,
  });
  const key = '/registry/secrets/ns/x';
  const put = async (): Promise<string> => {
    await store.put({ key, value: Buffer.from('v') });
    assert.equal(Buffer.from((await store.get(key))!.value).toString(), 'v');
    return Buffer.from((await plain.get(key))!.value)
      .toString('latin1')
      .split(':')
      .slice(0, 5)
      .join(':');
  };
  assert.equal(await put(), 'k8s:enc:aescbc:v1:a');
  await files.writeFileAtomic('/c', configuration('b', 'a'), {});
  assert.equal(await put(), 'k8s:enc:aescbc:v1:a', 'not yet');
  await clock.advance(60_000);
  await clock.settle();
  await store.range({ start: key, end: '' });
  assert.equal(store.isStale?.(key), true);
  assert.equal(await put(), 'k8s:enc:aescbc:v1:b');
  await files.writeFileAtomic('/c', '{', {});
  await clock.advance(60_000);
  await clock.settle();
  assert.equal(await put(), 'k8s:enc:aescbc:v1:b');
  assert.deepEqual(
    log.entries.map(({ level }) => level),
    ['info', 'error'],
  );
  await store.close();
});
