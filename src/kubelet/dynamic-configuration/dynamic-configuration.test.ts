import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap, Node } from '../../api/gen/core-v1.ts';
import { ConfigMaps, Nodes } from '../../api/gen/resources.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { formatTime } from '../../api/time.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { loadConfiguration } from '../configuration/load.ts';
import type { KubeletConfigurationV1Beta1 } from '../configuration/fields.ts';
import { createCheckpoints } from './checkpoints.ts';
import { createDynamicConfiguration } from './dynamic-configuration.ts';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const MAP = { namespace: 'kube-system', name: 'settings', kubeletConfigKey: 'kubelet' };

/** A kubelet process that starts repeatedly with the chosen configuration. */
async function createProcess() {
  const platform = createSimPlatform();
  const { clock, files } = platform;
  const api = createFakeApi(() => formatTime(clock.nowMs()));
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'n', groups: [] },
    userAgent: 'n',
  });
  const log = createMemoryLog();
  const load = (file?: string) => loadConfiguration(files, file === undefined ? {} : { file });
  const make = () =>
    createDynamicConfiguration({ ...platform, log, checkpoints: createCheckpoints(files, '/dynamic'), load });
  await clock.drive(client.resource(Nodes).create({ metadata: { name: 'n' } } as Node));
  let dynamic = make();
  let running = new AbortController();
  let config: KubeletConfigurationV1Beta1 | undefined;
  const start = async (): Promise<void> => {
    config = await dynamic.choose();
    const { signal } = (running = new AbortController());
    dynamic.follow({ client, nodeName: 'n' }, signal);
    void dynamic.untilChanged().then(() => {
      if (signal.aborted) return;
      running.abort();
      return start();
    });
  };
  await clock.drive(start());
  return {
    clock,
    put: (text: string) =>
      clock.drive(
        client
          .resource(ConfigMaps)
          .get(MAP)
          .then(
            (map) => client.resource(ConfigMaps).update({ ...map, data: { kubelet: HEAD + text } }),
            () =>
              client
                .resource(ConfigMaps)
                .create({ metadata: MAP, data: { kubelet: HEAD + text } } as unknown as ConfigMap),
          ),
      ),
    wish: (configSource: object | null) =>
      clock.drive(client.resource(Nodes).patch({ name: 'n' }, { type: 'merge', patch: { spec: { configSource } } })),
    label: (value: string) =>
      clock.drive(
        client.resource(Nodes).patch({ name: 'n' }, { type: 'merge', patch: { metadata: { labels: { value } } } }),
      ),
    failures: () => log.entries.filter(({ message }) => message === 'Failed to sync the dynamic configuration').length,
    /** As after a crash. */
    async restart() {
      running.abort();
      dynamic = make();
      await clock.drive(start());
    },
    maxPods: () => config?.maxPods,
    async told() {
      const { status } = await clock.drive(client.resource(Nodes).get({ name: 'n' }));
      const versionOf = (source: { configMap?: { resourceVersion?: string } } | undefined) =>
        source?.configMap?.resourceVersion;
      const { assigned, active, lastKnownGood, error } = status?.config ?? {};
      return { assigned: versionOf(assigned), active: versionOf(active), good: versionOf(lastKnownGood), error };
    },
  };
}

const NOTHING = { assigned: undefined, active: undefined, good: undefined, error: undefined };

test('a wished configuration is started with, kept over a restart, and good after ten minutes', async () => {
  const p = await createProcess();
  assert.equal(p.maxPods(), 110);
  const { metadata } = await p.put('maxPods: 50');
  await p.wish({ configMap: MAP });
  await p.clock.advance(1000);
  assert.equal(p.maxPods(), 50);
  const version = metadata.resourceVersion;
  assert.deepEqual(await p.told(), { ...NOTHING, assigned: version, active: version });
  await p.restart();
  assert.equal(p.maxPods(), 50);
  await p.clock.advance(601_000);
  assert.deepEqual(await p.told(), { ...NOTHING, assigned: version, active: version, good: version });
});

test('a configuration that fails to load is replaced by the last known good one; without a reference, by the local one', async () => {
  const p = await createProcess();
  const good = (await p.put('maxPods: 50')).metadata.resourceVersion;
  await p.wish({ configMap: MAP });
  await p.clock.advance(700_000);
  const bad = (await p.put('maxPods: many')).metadata.resourceVersion;
  await p.clock.advance(1000);
  assert.equal(p.maxPods(), 50);
  const error = 'failed to load config, see Kubelet log for details';
  assert.deepEqual(await p.told(), { assigned: bad, active: good, good, error });
  await p.wish(null);
  await p.clock.advance(1000);
  assert.equal(p.maxPods(), 110);
  assert.deepEqual(await p.told(), NOTHING);
});

test('however often the node changes, a wish that cannot be followed is tried again by one timer', async () => {
  const p = await createProcess();
  await p.wish({ configMap: MAP });
  await p.clock.advance(1000);
  for (let change = 0; change < 20; change++) await p.label(String(change));
  await p.clock.advance(1000);
  const before = p.failures();
  await p.clock.advance(300_000);
  assert.equal(p.failures() - before, 10);
});

test('an invalid reference changes nothing and is reported; it is retried', async () => {
  const p = await createProcess();
  await p.wish({ configMap: MAP });
  await p.clock.advance(1000);
  assert.deepEqual(await p.told(), {
    ...NOTHING,
    error: 'failed to sync: failed to download config, see Kubelet log for details',
  });
  await p.put('maxPods: 7');
  await p.clock.advance(1000);
  assert.equal(p.maxPods(), 7);
  assert.equal((await p.told()).error, undefined);
  await p.wish({ configMap: null });
  await p.clock.advance(1000);
  assert.equal(
    (await p.told()).error,
    'failed to sync: invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil',
  );
  assert.equal(p.maxPods(), 7);
});
