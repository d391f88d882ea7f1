import { test } from 'node:test';
import { createNodeClock } from '../../platform/node/clock.ts';
import { createNodeRandom } from '../../platform/node/random.ts';
import { describeStore } from '../store-suite.ts';
import type { Store } from '../store.ts';
import { startEtcd, withoutEtcd } from './etcd-fixture.ts';
import { createEtcdStore } from './etcd-store.ts';

const platform = { clock: createNodeClock(), random: createNodeRandom() };

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
