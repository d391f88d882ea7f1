/**
 * A kubelet is killed at twenty seeded points of starts, updates and deletions of pods, and restarted each time: no container
 * restarts, none runs twice, and every pod reaches its desired state. Then measures how fast the kubelet notices changes.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../src/api/gen/core-v1.ts';
import { ConfigMaps, Pods } from '../../src/api/gen/resources.ts';
import { TEST_IMAGE_NAME } from './fixtures/containerd.ts';
import { joinedKubelet, type JoinedKubelet } from './fixtures/joined-kubelet.ts';
import { startKubeletMachine, until, type KubeletMachine } from './fixtures/kubelet-machine.ts';

const KILLS = 20;
const SEED = 20_260_101;
/** Kills happen within this time after a change: the length of a pod's start here. */
const WINDOW_MS = 500;

/** Returns the same numbers for the same seed. */
function createDice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a kubelet that is killed', () => {
  let machine: KubeletMachine;
  let kubelet: JoinedKubelet;
  const log = (): string => kubelet.log();

  before(async () => {
    machine = await startKubeletMachine();
    kubelet = await joinedKubelet(machine, 'test');
    kubelet.start();
    await kubelet.ready();
  });
  after(() => machine?.close());

  const pods = () => machine.plane.admin.resource(Pods);
  const sleeper = (): Pick<NonNullable<Pod['spec']>, 'containers'> => ({
    containers: [
      {
        name: 'app',
        image: TEST_IMAGE_NAME,
        imagePullPolicy: 'IfNotPresent',
        command: ['busybox', 'sleep', '100000'],
        resources: { requests: { cpu: '10m' } },
      },
    ],
  });
  const key = (name: string) => ({ namespace: 'default', name });
  const create = (name: string, more: Partial<NonNullable<Pod['spec']>> = {}): Promise<Pod> =>
    pods().create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: key(name),
      spec: {
        nodeName: 'test',
        terminationGracePeriodSeconds: 1,
        ...sleeper(),
        ...more,
      },
    });
  const ready = (name: string): Promise<Pod> =>
    until(
      `${name} is Ready`,
      async () => {
        const pod = await pods().get(key(name));
        return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') && pod;
      },
      log,
    );
  const idOf = (pod: Pod): string => pod.status?.containerStatuses?.[0]?.containerID ?? '';
  const restartsOf = (pod: Pod): number | undefined => pod.status?.containerStatuses?.[0]?.restartCount;
  /** Containers of a pod that the runtime runs. */
  const runningOf = async (name: string): Promise<string[]> => {
    const filter = {
      state: { state: 'CONTAINER_RUNNING' as const },
      labelSelector: { 'io.kubernetes.pod.name': name },
    };
    const { containers } = await machine.containerd.client.runtime.listContainers({ filter });
    return containers.map(({ id }) => `containerd://${id}`);
  };
  /**
   * The restart count may equal the number of starts that a kill interrupted: containerd cancels the start of a disconnected
   * caller, and the kubelet creates another container, as upstream's does. A container that never ran was not restarted.
   */
  const assertNoRestart = async (what: string, pod: Pod): Promise<void> => {
    const restarts = restartsOf(pod);
    if (restarts === 0) return;
    const { runtime } = machine.containerd.client;
    const filter = { labelSelector: { 'io.kubernetes.pod.name': pod.metadata.name ?? '' } };
    const { containers } = await runtime.listContainers({ filter });
    const asked = containers.map(async ({ id }) => (await runtime.containerStatus({ containerId: id })).status);
    const statuses = await Promise.all(asked);
    const cutOff = statuses.filter((status) => status?.reason === 'StartError' && status.startedAtMs === 0);
    const records = statuses.map((status) => JSON.stringify(status)).join('\n');
    assert.equal(restarts, cutOff.length, `${what}: it restarted\n${records}\n${log()}`);
  };
  /** Deleted from the API and without running containers; records of ended ones are collected later. */
  const gone = (name: string): Promise<boolean> =>
    until(
      `${name} is gone`,
      async () => {
        const filter = {
          state: { state: 'SANDBOX_READY' as const },
          labelSelector: { 'io.kubernetes.pod.name': name },
        };
        const { items } = await machine.containerd.client.runtime.listPodSandbox({ filter });
        const listed = (await pods().list({ namespace: 'default' })).items.some((pod) => pod.metadata.name === name);
        if (listed || items.length > 0) throw new Error(`in the API: ${listed}, sandboxes: ${items.length}`);
        return (await runningOf(name)).length === 0;
      },
      log,
    );

  it(`loses and restarts no container at ${KILLS} points`, { timeout: 1_000_000 }, async (t) => {
    const dice = createDice(SEED);
    await create('bystander');
    const bystander = await ready('bystander');
    assert.equal(restartsOf(bystander), 0);
    const counts: Record<string, number> = { start: 0, update: 0, deletion: 0 };
    const alive = new Map<string, Pod>();
    for (let kill = 0; kill < KILLS; kill++) {
      const action = (['start', 'update', 'deletion'] as const)[alive.size < 2 ? 0 : Math.floor(dice() * 3)]!;
      const target = action === 'start' ? `pod-${kill}` : [...alive.keys()][Math.floor(dice() * alive.size)]!;
      if (action === 'start') await create(target);
      if (action === 'update') {
        const cpu = `${20 + kill}m`;
        const containers = [{ name: 'app', resources: { requests: { cpu } } }];
        await pods().patch(
          key(target),
          { type: 'strategic', patch: { spec: { containers } } },
          { subresource: 'resize' },
        );
      }
      if (action === 'deletion') await pods().delete(key(target));
      await sleep(dice() * WINDOW_MS);
      await kubelet.kill();
      kubelet.start();
      counts[action] = (counts[action] ?? 0) + 1;
      if (action === 'deletion') {
        await gone(target);
        alive.delete(target);
      } else {
        const pod = action === 'start' ? await ready(target) : await resized(alive.get(target)!, `${20 + kill}m`);
        if (action === 'start') {
          await assertNoRestart(`start of ${target}`, pod);
          alive.set(target, pod);
        }
      }
      for (const [name, pod] of [...alive, ['bystander', bystander] as const])
        assert.deepEqual(await runningOf(name), [idOf(pod)], `${name} after kill ${kill + 1}, ${action} of ${target}`);
    }
    t.diagnostic(`${KILLS} kills, seed ${SEED}: ${JSON.stringify(counts)}`);
    for (const [name, pod] of [...alive, ['bystander', bystander] as const]) {
      const now = await pods().get(key(name));
      assert.deepEqual([idOf(now), restartsOf(now)], [idOf(pod), restartsOf(pod)], name);
    }
  });

  async function resized(before: Pod, cpu: string): Promise<Pod> {
    const { name = '' } = before.metadata;
    return until(
      `${name} has ${cpu}`,
      async () => {
        const pod = await pods().get(key(name));
        if (restartsOf(pod) !== restartsOf(before)) throw new Error(`it restarted: ${JSON.stringify(pod.status)}`);
        return pod.status?.containerStatuses?.[0]?.resources?.requests?.['cpu'] === cpu && pod;
      },
      log,
    );
  }

  it('updates the file of a changed config map, and notices the end of a container, at once', async (t) => {
    const maps = machine.plane.admin.resource(ConfigMaps);
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: key('settings') };
    await maps.create({ ...map, data: { color: 'blue' } });
    const volumes = [{ name: 'settings', configMap: { name: 'settings' } }];
    const [app] = sleeper().containers;
    const volumeMounts = [{ name: 'settings', mountPath: '/settings' }];
    const pod = await create('reader', { volumes, containers: [{ ...app!, volumeMounts }] });
    const started = await ready('reader');
    const file = join(
      machine.directory,
      `test/pods/${pod.metadata.uid}/volumes/kubernetes.io~configmap/settings/color`,
    );
    assert.equal(readFileSync(file, 'utf8'), 'blue');
    const changedMs = performance.now();
    await maps.update({ ...map, data: { color: 'green' } });
    await until('the file has changed', async () => existsSync(file) && readFileSync(file, 'utf8') === 'green', log);
    t.diagnostic(`config map change to file: ${Math.round(performance.now() - changedMs)} ms`);
    const id = idOf(started).replace('containerd://', '');
    const { info } = await machine.containerd.client.runtime.containerStatus({ containerId: id, verbose: true });
    process.kill((JSON.parse(info['info'] ?? '{}') as { pid: number }).pid, 'SIGKILL');
    const killedMs = performance.now();
    await until(
      'the end is told',
      async () => {
        const [status] = (await pods().get(key('reader'))).status?.containerStatuses ?? [];
        return status?.state?.terminated !== undefined || status?.lastState?.terminated !== undefined;
      },
      log,
    );
    t.diagnostic(`a container's end in the API: ${Math.round(performance.now() - killedMs)} ms`);
    await pods().delete(key('reader'));
    await gone('reader');
  });
});
