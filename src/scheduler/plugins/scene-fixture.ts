/** One pod and some nodes with all default plugins, for tests of their common result. */
import type { Node, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { fitErrorMessage } from '../fit-error.ts';
import type { SchedulerPluginDeps } from '../framework/plugin-deps.ts';
import { schedulePod } from '../schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { createProfile } from '../framework/profile.ts';
import { defaultPlugins } from './list.ts';

export const HOST = 'kubernetes.io/hostname';
export const ZONE = 'topology.kubernetes.io/zone';

export interface Scene {
  readonly nodes: readonly Stored<Node>[];
  readonly pod: Stored<Pod>;
  readonly running?: readonly (readonly [Stored<Pod>, string])[];
  readonly deps?: Partial<SchedulerPluginDeps>;
}

/** The chosen node, or the message. */
export function outcome({ nodes, pod, running = [], deps = {} }: Scene): string {
  const plugins = defaultPlugins.map(({ create }) => create(testPluginDeps(deps)));
  const profile = createProfile({
    schedulerName: 'default-scheduler',
    plugins,
    weights: Object.fromEntries(defaultPlugins.map(({ weight }, i) => [plugins[i]?.name ?? '', weight])),
  });
  const cache = createSchedulerCache();
  for (const node of nodes) cache.addNode(node);
  for (const [placed, node] of running) cache.assume(placed, node);
  const result = schedulePod(
    { profile, pod, snapshot: cache.snapshot(), random: createSeededRandom(7), cursor: { startAt: 0 } },
    new Map(),
  );
  return result.node ?? fitErrorMessage(result.diagnosis);
}

export const zoned = (name: string, zone: string, more: Record<string, string> = {}): Stored<Node> =>
  testNode(name, { labels: { [ZONE]: zone, ...more } });
export const zones = [zoned('a', 'z1'), zoned('b', 'z1'), zoned('c', 'z2')];
export const pod = (
  name: string,
  labels: Record<string, string> = {},
  spec: Partial<PodSpec> = {},
  namespace = 'default',
): Stored<Pod> => {
  const made = testPod(name, { spec });
  return stored({ ...made, metadata: { ...made.metadata, labels, namespace } });
};
export const web = { app: 'web' };
export const none = (...reasons: string[]): string => `0/3 nodes are available: ${reasons.join(', ')}.`;
