import { test } from 'node:test';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createNodeRandom } from '../../src/platform/node/random.ts';
import { createMemoryLog } from '../../src/platform/sim/log.ts';
import { describeStore } from '../../src/storage/store-suite.ts';
import type { Store } from '../../src/storage/store.ts';
import { startEtcd, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdStore } from '../../src/storage/etcd/etcd-store.ts';

const platform = { clock: createNodeClock(), random: createNodeRandom(), log: createMemoryLog() };

if (withoutEtcd) test('etcd store', { skip: withoutEtcd });
else
  describeStore('etcd store', async () => {
    const etcd = await startEtcd();
    const open = (): Promise<Store> => createEtcdStore({ endpoints: [etcd.url], platform });
    const store = await open();
    return {
      store,
      async reopen() {
        await store.close();
        return open();
      },
      cleanUp: () => etcd.stop(),
    };
  });
