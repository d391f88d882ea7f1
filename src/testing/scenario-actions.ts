/** Actions of scenario steps on a cluster. */
import type { Pod } from '../api/gen/core-v1.ts';
import { Pods } from '../api/gen/resources.ts';
import { isReason } from '../api/status-error.ts';
import type { Patch } from '../client/client.ts';
import { CriError } from '../cri/cri-error.ts';
import type { Cluster } from './cluster.ts';
import { type Duration, spanMs } from './duration.ts';
import type { RestartablePart } from './faults.ts';
import type { StepContext } from './scenario-expectations.ts';
import { resolveTarget } from './named-target.ts';
import { noteCrashedPart, noteLostNode } from './scenario-notices.ts';

export interface DeleteStep {
  readonly object: string;
  readonly grace?: number;
  readonly propagation?: 'Foreground' | 'Background' | 'Orphan';
}

export async function deleteObject(cluster: Cluster, { object, grace, propagation }: DeleteStep): Promise<void> {
  const { info, namespace, name } = resolveTarget(cluster, object);
  await cluster.client.resource(info).delete(key(namespace, name), {
    gracePeriodSeconds: grace,
    propagationPolicy: propagation,
  });
}

/** Evicts a pod, unless budgets prevent it. */
export async function evict(cluster: Cluster, pod: string): Promise<void> {
  const { namespace, name } = resolveTarget(cluster, pod);
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { namespace, name } };
  await cluster.client.resource(Pods).createSubresource(key(namespace, name), 'eviction', eviction);
}

export interface PatchStep {
  readonly object: string;
  readonly merge?: object;
  readonly strategic?: object;
  readonly json?: readonly unknown[];
  readonly subresource?: string;
}

export async function patchObject(
  cluster: Cluster,
  { object, merge, strategic, json, subresource }: PatchStep,
): Promise<void> {
  const { info, namespace, name } = resolveTarget(cluster, object);
  const patch: Patch =
    json !== undefined
      ? { type: 'json', operations: json }
      : strategic !== undefined
        ? { type: 'strategic', patch: strategic }
        : { type: 'merge', patch: merge ?? {} };
  await cluster.client
    .resource(info)
    .patch(key(namespace, name), patch, subresource === undefined ? {} : { subresource });
}

function key(namespace: string, name: string): { namespace?: string; name: string } {
  return namespace === '' ? { name } : { namespace, name };
}

export async function crash(cluster: Cluster, target: string, { notes }: StepContext): Promise<void> {
  const [kind, name] = target.split('/');
  if (kind === 'node' && name !== undefined) {
    await cluster.nodes.crash(name);
    noteLostNode(cluster, notes, { node: name, loss: 'has no power' });
  } else if (kind === 'kubelet' && name !== undefined) {
    cluster.nodes.crashKubelet(name);
    noteLostNode(cluster, notes, { node: name, loss: 'has no kubelet' });
  } else {
    noteCrashedPart(notes, target);
    await cluster.faults.crash(target as RestartablePart);
  }
}

export async function start(cluster: Cluster, target: string, { notes }: StepContext): Promise<void> {
  const [kind, name] = target.split('/');
  if ((kind === 'node' || kind === 'kubelet') && name !== undefined) {
    await cluster.nodes.start(name);
    notes.find(name);
  } else await cluster.faults.start(target as RestartablePart);
}

/** Stops a kubelet gracefully. */
export async function stopKubelet(cluster: Cluster, target: string, { notes }: StepContext): Promise<void> {
  const node = nameIn(target);
  await cluster.nodes.stopKubelet(node);
  noteLostNode(cluster, notes, { node, loss: 'has no kubelet' });
}

export function partition(cluster: Cluster, node: string, { notes }: StepContext): void {
  cluster.nodes.partition(node);
  noteLostNode(cluster, notes, { node, loss: 'is cut off' });
}

export function heal(cluster: Cluster, node: string, { notes }: StepContext): void {
  cluster.nodes.heal(node);
  notes.find(node);
}

export async function restart(cluster: Cluster, target: string): Promise<void> {
  const [kind, name] = target.split('/');
  if (kind === 'kubelet' && name !== undefined) await cluster.nodes.restartKubelet(name);
  else await cluster.faults.restart(target as RestartablePart);
}

export async function crashContainer(
  cluster: Cluster,
  { pod: podReference, container, code = 1 }: { pod: string; container?: string; code?: number },
): Promise<void> {
  const found = resolveTarget(cluster, podReference);
  const pod = await cluster.waitFor<Pod>(`pod/${found.namespace}/${found.name}`, 'exists', { within: 0 });
  const statuses = pod.status?.containerStatuses ?? [];
  const status = container === undefined ? statuses[0] : statuses.find(({ name }) => name === container);
  const id = status?.containerID?.replace(/^.*:\/\//, '');
  if (id === undefined || pod.spec?.nodeName === undefined) throw new Error(`${podReference} runs no such container`);
  await cluster.nodes.runtime(pod.spec.nodeName).crash(id, code);
}

export async function tryDrain(
  cluster: Cluster,
  { node: nodeName, every = '5s', within = '10m' }: { node: string; every?: Duration; within?: Duration },
): Promise<void> {
  const endMs = cluster.nowMs + spanMs(within);
  for (;;) {
    const refused = await cluster.nodes.drain(nodeName).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused === undefined) return;
    if (!isReason(refused, 'TooManyRequests') || cluster.nowMs >= endMs) throw refused;
    await cluster.advance(every);
  }
}

function nameIn(target: string): string {
  return target.slice(target.indexOf('/') + 1);
}

export function failRuntime(
  cluster: Cluster,
  { node: nodeName, call, error }: { node: string; call: string; error?: string },
): void {
  const runtime = cluster.nodes.runtime(nodeName);
  if (!(call in runtime.runtime) && !(call in runtime.images)) throw new Error(`the runtime has no call ${call}`);
  runtime.failCalls(call as 'runPodSandbox', new CriError('Unknown', error ?? `${call} fails`));
}
