/** Keelson stops, orderly or killed, and starts again: pods run on, no acknowledged write is lost, and controllers converge. */
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { dnsAddress } from '../../src/cluster/network/pod-network.ts';
import { createKubeClient } from '../../tools/up/kube-client.ts';
import { images, keelson, startCluster, type Space, type TestCluster } from './cluster-fixture.ts';
import { endProcess } from './fixtures/programs.ts';
import { fetchText, startTraffic } from './fixtures/traffic.ts';

interface PodFacts {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly containerID: string;
      readonly restartCount: number;
      readonly ready: boolean;
      readonly lastState: { readonly terminated?: { readonly startedAt?: string } };
    }[];
  };
}

async function podsOf(space: Space): Promise<PodFacts[]> {
  return (JSON.parse(await space.kubectl('get pods -o json')) as { items: PodFacts[] }).items;
}

/**
 * Pods with a container that ran and was restarted, with its last state. A start that the kill interrupted is repeated and may
 * count as a restart, as upstream counts it: that container never ran, so its last state has no start time.
 */
function restarted(pods: readonly PodFacts[]): string[] {
  return pods.flatMap(({ metadata, status }) =>
    (status.containerStatuses ?? [])
      .filter(({ restartCount, lastState }) => restartCount > 1 || lastState.terminated?.startedAt !== undefined)
      .map(({ lastState }) => `${metadata.name}: ${JSON.stringify(lastState)}`),
  );
}

/** Container ids by pod. */
async function containers(space: Space): Promise<Record<string, string>> {
  const pods = await podsOf(space);
  return Object.fromEntries(
    pods.map((pod) => [pod.metadata.name, pod.status.containerStatuses?.[0]?.containerID ?? '']).sort(),
  );
}

function readFileIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Clients that create objects and record acknowledged ones until the server is gone. */
function startWriters(
  cluster: TestCluster,
  namespace: string,
  round: number,
): { acknowledged: Map<string, string>; stop(): Promise<void> } {
  const client = createKubeClient(cluster.kubeconfig);
  const acknowledged = new Map<string, string>();
  let stopped = false;
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const writer = async (id: number): Promise<void> => {
    for (let count = 0; !stopped; count++) {
      const name = `w-${round}-${id}-${count}`;
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: 'first' } };
      const created = await client.send(path, { method: 'POST', body: object }).catch(() => undefined);
      if (created?.status !== 201) return;
      acknowledged.set(name, 'first');
      const patched = await client
        .send(`${path}/${name}`, {
          method: 'PATCH',
          body: { data: { value: 'second' } },
          contentType: 'application/merge-patch+json',
        })
        .catch(() => undefined);
      if (patched?.status !== 200) {
        acknowledged.set(name, 'first or second'); // The outcome of the write is unknown.
        return;
      }
      acknowledged.set(name, 'second');
    }
  };
  const writers = Array.from({ length: 8 }, (_, id) => writer(id));
  return {
    acknowledged,
    async stop() {
      stopped = true;
      await Promise.all(writers);
      client.close();
    },
  };
}

describe('keelson starts again', () => {
  let cluster: TestCluster;
  let space: Space;
  let url: string;
  const names = new Resolver();
  before(async () => {
    cluster = await startCluster();
    space = await cluster.space('again');
    await space.kubectl(`create deployment web --image=${images.test} --replicas=3 --port=8080`);
    await space.kubectl('expose deployment web --port=80 --target-port=8080');
    await space.kubectl('rollout status deployment/web --timeout=120s');
    url = `http://${await space.kubectl('get service web -o jsonpath={.spec.clusterIP}')}/cgi-bin/hostname`;
    const { serviceCidr } = JSON.parse(readFileSync(`${cluster.dataDir}/instance.json`, 'utf8')) as {
      serviceCidr: string;
    };
    names.setServers([dnsAddress(serviceCidr)]);
    await space.until(
      'its name',
      async () => (await names.resolve4(`web.${space.namespace}.svc.cluster.local`)).length === 1,
    );
    await space.until('the service to answer', async () => (await fetchText(url)) !== '');
  });
  after(() => cluster?.stop());

  it('after SIGTERM: pods and services run on with the same containers, and the next command works', async (t) => {
    const before = await containers(space);
    const traffic = startTraffic(url, { clients: 2, pauseMs: 20 });
    const pid = await cluster.pid();
    const stoppedMs = performance.now();
    await endProcess(pid, 'SIGTERM');
    t.diagnostic(`stopped in ${Math.round(performance.now() - stoppedMs)} ms`);
    assert.equal((await keelson(['status', '--data-dir', cluster.dataDir])).code, 1);
    const answered = (): number => traffic.answers.values().reduce((sum, count) => sum + count, 0);
    const soFar = answered();
    // Meanwhile only containers, rules and DNS of Keelson run.
    await space.until('requests', async () => answered() >= soFar + 20);
    assert.deepEqual(await names.resolve4(`web.${space.namespace}.svc.cluster.local`), [new URL(url).hostname]);
    const startedMs = performance.now();
    await cluster.up();
    t.diagnostic(`started again in ${Math.round(performance.now() - startedMs)} ms`);
    assert.deepEqual(await containers(space), before);
    await space.kubectl('scale deployment web --replicas=4');
    await space.kubectl('rollout status deployment/web --timeout=120s');
    await traffic.stop();
    assert.deepEqual(traffic.failures, []);
    const pods = await podsOf(space);
    assert.deepEqual(
      pods.map((pod) => pod.status.containerStatuses?.[0]?.restartCount),
      [0, 0, 0, 0],
    );
    const after = await containers(space);
    for (const [name, id] of Object.entries(before)) assert.equal(after[name], id);
    assert.equal(await space.kubectl(['exec', 'deploy/web', '--', 'echo', 'works']), 'works\n');
  });

  for (const round of [1, 2]) {
    it(`after kill -9 under load (round ${round}): no acknowledged write is lost, no container restarts, controllers converge`, async (t) => {
      const wanted = 4 + 3 * round;
      const before = await containers(space);
      const writers = startWriters(cluster, 'again', round);
      await space.kubectl(`scale deployment web --replicas=${wanted}`);
      await space.until('load', async () => writers.acknowledged.size > 60 * round); // At this moment pods are starting.
      await endProcess(await cluster.pid());
      await writers.stop();
      await cluster.up();
      const kept = (
        JSON.parse(await space.kubectl('get configmaps -o json')) as {
          items: { metadata: { name: string }; data: { value: string } }[];
        }
      ).items;
      const values = new Map(kept.map(({ metadata, data }) => [metadata.name, data?.value]));
      t.diagnostic(`${writers.acknowledged.size} objects were acknowledged before the kill`);
      const lost = [...writers.acknowledged].filter(
        ([name, value]) => values.get(name) === undefined || !value.includes(values.get(name)!),
      );
      assert.deepEqual(lost, []);
      await space.kubectl('rollout status deployment/web --timeout=120s');
      const pods = await space.until('the wanted pods', async () => {
        const list = await podsOf(space);
        return list.length === wanted && list.every((pod) => pod.status.containerStatuses?.[0]?.ready)
          ? list
          : undefined;
      });
      assert.deepEqual(restarted(pods), [], 'no container restarted');
      const after = await containers(space);
      for (const [name, id] of Object.entries(before)) assert.equal(after[name], id, `the container of ${name}`);
      await space.until('an answer', () => fetchText(url));
    });
  }

  it('containerd and DNS killed: both are restarted, no container restarts', async () => {
    const before = await containers(space);
    const parts = (): Record<string, number> =>
      Object.fromEntries(
        readdirSync('/proc').flatMap((pid) => {
          if (!/^\d+$/.test(pid)) return [];
          const command = readFileIfThere(`/proc/${pid}/cmdline`).split('\0');
          if (!command.some((part) => part.startsWith(`${cluster.dataDir}/`))) return [];
          return command[0] === 'containerd'
            ? [['containerd', Number(pid)]]
            : command.includes('dns-server')
              ? [['dns', Number(pid)]]
              : [];
        }),
      );
    const killed = parts();
    assert.deepEqual(Object.keys(killed).sort(), ['containerd', 'dns']);
    for (const pid of Object.values(killed)) process.kill(pid, 'SIGKILL');
    await space.until('both again', async () => {
      const now = parts();
      return Object.keys(killed).every((name) => (now[name] ?? 0) > 0 && now[name] !== killed[name]);
    });
    const name = await space.until('a command in a pod', () =>
      space.kubectl(['exec', 'deploy/web', '--', 'getent', 'hosts', 'web']),
    );
    assert.match(name, /web\.again\.svc\.cluster\.local/);
    await space.kubectl('run fresh --image=localhost/keelson/test:1');
    await space.kubectl('wait --for=condition=Ready pod/fresh --timeout=120s');
    await space.kubectl('delete pod fresh --now');
    assert.deepEqual(await containers(space), before);
    assert.deepEqual(restarted(await podsOf(space)), []);
    await space.until('all is well', async () =>
      (await keelson(['status', '--data-dir', cluster.dataDir])).stdout.includes('kubelet ok, proxy ok, dns ok'),
    );
  });

  it('after changes of the pods meanwhile: deleted pods are gone, new pods run', async () => {
    await space.kubectl('scale deployment web --replicas=2');
    await endProcess(await cluster.pid());
    await cluster.up();
    await space.until('two pods', async () => (await podsOf(space)).length === 2);
    await space.kubectl('rollout status deployment/web --timeout=120s');
  });
});
