/** Explains why a pod that is being deleted still exists: finalizers, grace period, node. */
import { Nodes, Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import { isNodeReady } from '../../component-helpers/nodes.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { finalizerCauses } from '../finalizers.ts';
import { inNamespace, nameOf, nameOfObject } from '../object-name.ts';
import { disruptionCauses } from './disruption.ts';
import { nodeStateOf } from './node-state.ts';

/** The time that a healthy node may need after the grace period. */
const SLACK_MS = 30_000;

export async function explainDeletion(pod: Pod, evidence: Evidence): Promise<Diagnosis> {
  const summary = 'is being deleted';
  const ofNode = await nodeCauses(pod, evidence);
  const blocking = [
    ...ofNode,
    ...overdueCauses(pod, evidence, ofNode.length > 0),
    ...(await volumeCauses(pod, evidence)),
    ...(await finalizerCauses(Pods, pod, evidence)),
  ];
  const causes = [...(await disruptionCauses(pod, evidence)), ...blocking, ...graceCauses(pod, evidence)];
  if (blocking.length > 0) return { state: 'Trouble', summary, causes };
  const isLate = evidence.nowMs > parseTime(pod.metadata.deletionTimestamp) + SLACK_MS;
  return { state: isLate ? 'Unknown' : 'Progressing', summary, causes };
}

/** A node that does not exist or does not respond ends no containers. */
async function nodeCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '' || isPodTerminal(pod)) return [];
  const { object: node, missing } = await evidence.get(Nodes, { name: nodeName });
  const self = nameOfObject(Pods, pod);
  const force = {
    text: 'if the machine is certainly off, remove the pod without waiting for its node',
    command: `kubectl delete pod ${self.name}${inNamespace(self)} --force --grace-period=0`,
  };
  if (missing)
    return [
      cause({
        code: 'NodeGone',
        object: nameOf(Nodes, { name: nodeName }),
        message: `node ${nodeName}, which has to end the containers, does not exist`,
        cure: force,
      }),
    ];
  if (node === undefined || isNodeReady(node)) return [];
  return [
    cause({
      code: 'NodeNotReady',
      object: nameOfObject(Nodes, node),
      message: `node ${nodeName}, which has to end the containers, is not ready`,
      cure: force,
      because: await evidence.causesOf(Nodes, node),
    }),
  ];
}

function graceCauses(pod: Pod, { nowMs }: Evidence): readonly Cause[] {
  const deadline = pod.metadata.deletionTimestamp ?? '';
  if ((pod.spec?.nodeName ?? '') === '' || isPodTerminal(pod) || nowMs > parseTime(deadline)) return [];
  const grace = Number(pod.metadata.deletionGracePeriodSeconds ?? 0);
  return [
    cause({
      code: 'GracePeriod',
      object: nameOfObject(Pods, pod),
      message: `its containers have until ${deadline} to end by themselves (grace period ${grace} s)`,
      nextTry: deadline,
      cure: { text: 'let the program end when it gets SIGTERM, or shorten terminationGracePeriodSeconds' },
    }),
  ];
}

function overdueCauses(pod: Pod, { nowMs }: Evidence, nodeIsAway: boolean): readonly Cause[] {
  const deadline = pod.metadata.deletionTimestamp ?? '';
  if (nodeIsAway || nowMs <= parseTime(deadline) + SLACK_MS || runningContainers(pod).length === 0) return [];
  return [
    cause({
      code: 'ContainersDoNotEnd',
      object: nameOfObject(Pods, pod),
      message: `the grace period ended at ${deadline}, and ${runningContainers(pod).join(', ')} still run`,
      cure: { text: 'read the log of the kubelet of its node' },
    }),
  ];
}

/** Volumes that are still mounted after the containers have ended. */
async function volumeCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  if (runningContainers(pod).length > 0) return [];
  const volumes = (await nodeStateOf(pod, evidence))?.volumes ?? [];
  return volumes
    .filter(({ waitsFor, since, error }) => waitsFor === 'unmount' && isStuck(evidence, since, error))
    .map(({ name, since, error }) =>
      cause({
        code: 'VolumeNotUnmounted',
        object: nameOfObject(Pods, pod),
        message: `volume ${name} could not be unmounted`,
        since,
        facts: error === undefined ? [] : [error],
        cure: { text: `see what uses the volume on node ${pod.spec?.nodeName}, or whether its server answers` },
      }),
    );
}

function isStuck({ nowMs }: Evidence, since: string, error: string | undefined): boolean {
  return error !== undefined || nowMs - parseTime(since) > SLACK_MS;
}

function runningContainers(pod: Pod): readonly string[] {
  return (pod.status?.containerStatuses ?? [])
    .filter(({ state }) => state?.running !== undefined)
    .map(({ name }) => name);
}
