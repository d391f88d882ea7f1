/**
 * Removes exited containers, sandboxes and logs of pods that are gone. Upstream: kuberuntime_gc.go.
 *
 * Running or recently created containers are never removed; for each container of an existing pod the newest exited
 * ones are kept, for `kubectl logs --previous` and for restart counts.
 */
import type { Container as CriContainer, PodSandbox } from '../../cri/gen/cri-types.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import { killContainer } from './kill-container.ts';
import { containerFacts } from './labels.ts';
import { parsePodLogDir } from './paths.ts';
import type { RuntimeContext } from './runtime-context.ts';
import { appendAll } from '../../base/lists.ts';

/** The state of pods; the pod workers provide it. */
export interface PodContentState {
  /** The pod was deleted or evicted: all its content may be removed. */
  shouldPodContentBeRemoved(uid: string): boolean;
  /** All its containers have stopped for good: on eviction they may be removed too. */
  shouldPodRuntimeBeRemoved(uid: string): boolean;
}

function isGone(uid: string, options: Options, pods: PodContentState): boolean {
  return pods.shouldPodContentBeRemoved(uid) || (options.evictNonDeleted && pods.shouldPodRuntimeBeRemoved(uid));
}

type Policy = Parameters<ContainerRuntime['garbageCollect']>[0];
type Options = Parameters<ContainerRuntime['garbageCollect']>[1];

interface DeadContainer {
  readonly container: CriContainer;
  readonly podUid: string;
  readonly name: string;
}

async function removeContainer(container: CriContainer, context: RuntimeContext): Promise<void> {
  const { runtime } = context.cri;
  try {
    if (container.state === 'CONTAINER_UNKNOWN') {
      await killContainer(
        {
          containerId: container.id,
          message: 'Container is in unknown state, try killing it before removal',
          reason: 'Unknown',
        },
        context,
      );
    }
    const { status } = await runtime.containerStatus({ containerId: container.id });
    await runtime.removeContainer({ containerId: container.id });
    if (status !== undefined && status.logPath !== '') await removeLogs(status.logPath, context);
  } catch (error) {
    if (!isCriCode(error, 'NotFound'))
      context.log.warn('dead container cannot be removed', { containerId: container.id, err: error });
  }
}

/** Removes a log file and its rotated versions. */
async function removeLogs(logPath: string, context: RuntimeContext): Promise<void> {
  const slash = logPath.lastIndexOf('/');
  const directory = logPath.slice(0, slash);
  if (!(await context.files.exists(directory))) return;
  for (const name of await context.files.readDir(directory)) {
    if (name === logPath.slice(slash + 1) || name.startsWith(`${logPath.slice(slash + 1)}.`))
      await context.files.remove(`${directory}/${name}`);
  }
}

function deadContainers(all: readonly CriContainer[], nowMs: number, minAgeMs: number): DeadContainer[] {
  return all
    .filter((container) => container.state !== 'CONTAINER_RUNNING' && nowMs - container.createdAtMs >= minAgeMs)
    .map((container) => {
      const facts = containerFacts(container.labels, container.annotations);
      return { container, podUid: facts.podUid, name: facts.containerName };
    })
    .filter((dead) => dead.podUid !== '')
    .sort((a, b) => b.container.createdAtMs - a.container.createdAtMs);
}

function groupByContainer(dead: readonly DeadContainer[]): DeadContainer[][] {
  const groups = new Map<string, DeadContainer[]>();
  for (const entry of dead) {
    const key = `${entry.podUid}/${entry.name}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return [...groups.values()];
}

/** Chooses the exited containers to remove; each group is sorted newest first. */
function containersToRemove(input: {
  dead: readonly DeadContainer[];
  policy: Policy;
  options: Options;
  pods: PodContentState;
}): DeadContainer[] {
  const { dead, policy, options, pods } = input;
  const remove: DeadContainer[] = [];
  let groups = groupByContainer(dead);
  const gone = (uid: string): boolean => isGone(uid, options, pods);
  if (options.allSourcesReady) {
    for (const group of groups) if (gone(group[0]!.podUid)) appendAll(remove, group);
    groups = groups.filter((group) => !gone(group[0]!.podUid));
  }
  const keepPerContainer = (limit: number): void => {
    groups = groups.map((group) => {
      appendAll(remove, group.slice(limit));
      return group.slice(0, limit);
    });
  };
  if (policy.maxPerPodContainer >= 0) keepPerContainer(policy.maxPerPodContainer);
  const left = (): number => groups.reduce((total, group) => total + group.length, 0);
  if (policy.maxContainers >= 0 && left() > policy.maxContainers) {
    keepPerContainer(Math.max(1, Math.floor(policy.maxContainers / groups.length)));
    const oldestFirst = groups.flat().sort((a, b) => a.container.createdAtMs - b.container.createdAtMs);
    appendAll(remove, oldestFirst.slice(0, Math.max(0, left() - policy.maxContainers)));
  }
  return remove;
}

/** Sandboxes without containers: all of deleted pods, all but the newest of others. */
function sandboxesToRemove(
  sandboxes: readonly PodSandbox[],
  inUse: ReadonlySet<string>,
  gone: (uid: string) => boolean,
): PodSandbox[] {
  const byPod = new Map<string, PodSandbox[]>();
  for (const sandbox of [...sandboxes].sort((a, b) => b.createdAtMs - a.createdAtMs)) {
    const uid = sandbox.metadata?.uid ?? '';
    byPod.set(uid, [...(byPod.get(uid) ?? []), sandbox]);
  }
  const removable = (sandbox: PodSandbox): boolean => !inUse.has(sandbox.id) && sandbox.state !== 'SANDBOX_READY';
  return [...byPod].flatMap(([uid, list]) => (gone(uid) ? list : list.slice(1)).filter(removable));
}

async function removeSandbox(sandbox: PodSandbox, context: RuntimeContext): Promise<void> {
  try {
    // A repeated stop frees what an interrupted stop left, above all the network.
    await context.cri.runtime.stopPodSandbox({ podSandboxId: sandbox.id });
    await context.cri.runtime.removePodSandbox({ podSandboxId: sandbox.id });
  } catch (error) {
    if (!isCriCode(error, 'NotFound'))
      context.log.warn('dead sandbox cannot be removed', { podSandboxId: sandbox.id, err: error });
  }
}

async function removePodLogs(gone: (uid: string) => boolean, context: RuntimeContext): Promise<void> {
  const root = context.paths.podLogsDir;
  if (!(await context.files.exists(root))) return;
  for (const name of await context.files.readDir(root)) {
    const pod = parsePodLogDir(name);
    if (pod !== undefined && gone(pod.uid)) await context.files.remove(`${root}/${name}`);
  }
}

/** The most removals at a time, so that starting pods are not slowed down. */
const PARALLEL_REMOVALS = 4;

async function forEach<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  if (items.length === 0) return;
  const rest = items.values();
  await Promise.all(
    Array.from({ length: PARALLEL_REMOVALS }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}

/** One pass over containers, sandboxes and logs, in this order. Single failures are logged and left for the next pass. */
export async function garbageCollect(
  input: { policy: Policy; options: Options; pods: PodContentState },
  context: RuntimeContext,
): Promise<void> {
  const { policy, options, pods } = input;
  const { runtime } = context.cri;
  const gone = (uid: string): boolean => isGone(uid, options, pods);
  const { containers } = await runtime.listContainers({});
  const dead = deadContainers(containers, context.clock.nowMs(), policy.minAgeMs);
  const unwanted = containersToRemove({ dead, policy, options, pods });
  await forEach(unwanted, ({ container }) => removeContainer(container, context));
  const left = unwanted.length === 0 ? containers : (await runtime.listContainers({})).containers;
  const { items } = await runtime.listPodSandbox({});
  const inUse = new Set(left.map((container) => container.podSandboxId));
  const kubelet = items.filter((sandbox) => containerFacts(sandbox.labels, {}).podUid !== '');
  await forEach(sandboxesToRemove(kubelet, inUse, gone), (sandbox) => removeSandbox(sandbox, context));
  if (options.allSourcesReady) await removePodLogs((uid) => pods.shouldPodContentBeRemoved(uid), context);
}
