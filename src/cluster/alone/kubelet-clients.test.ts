/** The three clients of a kubelet, each with its own rate limit, under virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Nodes } from '../../api/gen/resources.ts';
import type { Client } from '../../client/client.ts';
import { completeConfiguration } from '../../kubelet/configuration/fields.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createKubeletClients, type KubeletClients } from './kubelet-clients.ts';

const KUBECONFIG = JSON.stringify({
  clusters: [{ name: 'c', cluster: { server: 'http://localhost:8080' } }],
  users: [{ name: 'u', user: { token: 't' } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
});

async function clientsOf(given: Readonly<Record<string, unknown>>, isSilent = false) {
  const stopping = new AbortController();
  const platform = createSimPlatform();
  const asked: number[] = [];
  await platform.net.listenHttp({ host: 'localhost', port: 8080 }, async ({ headers }) => {
    assert.equal(headers['authorization'], 'Bearer t');
    asked.push(platform.clock.monotonicMs());
    if (isSilent) await new Promise(() => undefined);
    const body = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
    return { kind: 'bytes', status: 200, headers: { 'content-type': 'application/json' }, chunks: [Buffer.from(body)] };
  });
  await platform.files.writeFile('/kubeconfig', KUBECONFIG);
  const clients = await platform.clock.drive(
    createKubeletClients(platform, {
      kubeconfig: '/kubeconfig',
      certDir: '/pki',
      nodeName: 'n',
      config: completeConfiguration(given),
      signal: stopping.signal,
    }),
  );
  const get = (client: Client): Promise<unknown> => client.resource(Nodes).get({ name: 'n' });
  return { platform, clients, asked, get, stopping };
}

describe('the clients of a kubelet', () => {
  const limits = { kubeAPIQPS: 2, kubeAPIBurst: 1, eventRecordQPS: 4, eventBurst: 2 };
  const cases: {
    about: string;
    which: keyof Omit<KubeletClients, 'start'>;
    given?: Readonly<Record<string, unknown>>;
    at: number[];
  }[] = [
    { about: 'its work waits its turn', which: 'client', at: [0, 500, 1_000, 1_500] },
    { about: 'events wait theirs', which: 'eventClient', at: [0, 0, 250, 500] },
    { about: 'heartbeats wait for nobody', which: 'heartbeatClient', at: [0, 0, 0, 0] },
    { about: 'events without a limit', which: 'eventClient', given: { eventRecordQPS: 0 }, at: [0, 0, 0, 0] },
    { about: 'its work without a limit', which: 'client', given: { kubeAPIQPS: -1 }, at: [0, 0, 0, 0] },
  ];
  for (const { about, which, given, at } of cases) {
    it(about, async () => {
      const { platform, clients, asked, get } = await clientsOf({ ...limits, ...given });
      await platform.clock.drive(Promise.all([1, 2, 3, 4].map(() => get(clients[which]))));
      assert.deepEqual(asked, at);
    });
  }

  it('no client uses the rate limit of another', async () => {
    const { platform, clients, asked, get } = await clientsOf(limits);
    const { client, eventClient, heartbeatClient } = clients;
    await platform.clock.drive(Promise.all([client, eventClient, heartbeatClient, heartbeatClient].map(get)));
    assert.deepEqual(asked, [0, 0, 0, 0]);
  });

  it('no call waits for a response when the kubelet stops', async () => {
    const { platform, clients, get, stopping } = await clientsOf({}, true);
    const { client, eventClient, heartbeatClient } = clients;
    const failures: unknown[] = [];
    for (const one of [client, eventClient, heartbeatClient])
      get(one).catch(({ message }: Error) => failures.push(message));
    await platform.clock.advance(100);
    stopping.abort(new Error('the kubelet is stopping'));
    await platform.clock.advance(100);
    assert.deepEqual(failures, Array(3).fill('the kubelet is stopping'));
  });

  it('a heartbeat is aborted when its lease would expire', async () => {
    const { platform, clients, get } = await clientsOf({ ...limits, nodeLeaseDurationSeconds: 5 }, true);
    const failures: unknown[] = [];
    get(clients.heartbeatClient).catch((error: unknown) => failures.push(error));
    await platform.clock.advance(4_999);
    assert.equal(failures.length, 0);
    await platform.clock.advance(1);
    assert.equal(failures.length, 1);
  });
});
