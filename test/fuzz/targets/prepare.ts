// Creates the objects that exchanges refer to: namespaces, a running pod, and an object of the well-behaved client.
import { setTimeout as pause } from 'node:timers/promises';
import type { OwnClient } from './own-client.ts';

export const STEADY = '/api/v1/namespaces/steady/configmaps/steady';

const namespaced = ['fuzz', 'fuzz-b', 'steady'];

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 120_000;
  for (;;) {
    if (await condition().catch(() => false)) return;
    if (performance.now() > deadlineMs) throw new Error(`not within two minutes: ${what}`);
    await pause(50);
  }
}

export const untilReady = (client: OwnClient): Promise<void> =>
  until('ready', async () => (await client.send('GET', '/readyz')).status === 200);

export async function prepare(client: OwnClient): Promise<void> {
  await untilReady(client);
  for (const name of namespaced) {
    await until(`namespace ${name}`, async () =>
      [201, 409].includes((await client.send('POST', '/api/v1/namespaces', { metadata: { name } })).status),
    );
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await until(account, async () => (await client.send('GET', account)).status === 200);
  }
  const steady = { metadata: { name: 'steady' }, data: { count: '0' } };
  await client.send('POST', '/api/v1/namespaces/steady/configmaps', steady);
  await makeRunningPod(client);
}

/** The pod to which streams are opened; exchanges delete collections of pods. */
export async function makeRunningPod(client: OwnClient): Promise<void> {
  const spec = { containers: [{ name: 'c', image: 'i:1' }], terminationGracePeriodSeconds: 0 };
  await client.send('POST', '/api/v1/namespaces/fuzz/pods', { metadata: { name: 'runs' }, spec });
}
