/** Explains why a pod has no node: scheduling gates, no scheduler, or the rejections of the scheduler's plugins. */
import { fieldSelectorOf } from '../../api/field-selector.ts';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { findUntoleratedTaint, taintText } from '../../api/taints-tolerations.ts';
import { selectorLacks } from '../../component-helpers/node-affinity.ts';
import { refusals, refusedBy, type PodDecision, type PodWhy } from '../../component-helpers/pod-why.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { unboundClaimCauses } from './claims.ts';
import { resourceClaimCauses } from './resource-claims.ts';
import { refusalCure } from './scheduling-cure.ts';

/** The limit of nodes whose verdict is printed in full. */
const MAX_NODES = 3;

export async function explainScheduling(pod: Pod, evidence: Evidence): Promise<Diagnosis> {
  const summary = 'has no node yet';
  const gates = gateCauses(pod);
  if (gates.length > 0) return { state: 'Trouble', summary, causes: gates };
  const preempted = await preemptedCauses(pod, evidence);
  if (preempted.length > 0) return { state: 'Progressing', summary, causes: preempted };
  const { namespace = '', name = '' } = pod.metadata;
  const why = await evidence.subresource<PodWhy>(
    Pods,
    { namespace, name },
    {
      name: 'why',
      what: `what the scheduler says of each node for pod/${namespace}/${name}`,
      query: { nodes: String(MAX_NODES) },
    },
  );
  const decision = why?.now ?? why?.lastDecision;
  if (decision?.result === 'Unschedulable')
    return { state: 'Trouble', summary, causes: [await verdictCause(pod, decision, evidence)] };
  if (why?.state === 'Foreign') return { state: 'Trouble', summary, causes: [foreignCause(pod, why.message)] };
  if (why?.state === 'Gated')
    return { state: 'Trouble', summary, causes: [await heldBackCause(pod, why.message, evidence)] };
  if (why !== undefined)
    return { state: 'Progressing', summary: `${summary}: ${decision?.message ?? why.message}`, causes: [] };
  const causes = await conditionCauses(pod, evidence);
  return { state: causes.length === 0 ? 'Unknown' : 'Trouble', summary, causes };
}

function gateCauses(pod: Pod): readonly Cause[] {
  const self = nameOfObject(Pods, pod);
  return (pod.spec?.schedulingGates ?? []).map(({ name }) =>
    cause({
      code: 'SchedulingGate',
      object: self,
      message: `scheduling gate ${name} has not been removed`,
      cure: { text: `see why the controller behind ${name} does not open it` },
    }),
  );
}

/** Pods that are terminating on the nominated node to make room for the pod. */
async function preemptedCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const node = pod.status?.nominatedNodeName ?? '';
  if (node === '') return [];
  const neighbours = await evidence.list(Pods, { fieldSelector: fieldSelectorOf({ 'spec.nodeName': node }) });
  const ending = neighbours.filter(
    (other) =>
      other.metadata.deletionTimestamp !== undefined &&
      podCondition(other, 'DisruptionTarget')?.reason === 'PreemptionByScheduler',
  );
  return ending.slice(0, MAX_NODES).map((other) => {
    const object = nameOfObject(Pods, other);
    return cause({
      code: 'WaitsForPreempted',
      object,
      message: `node ${node} is kept for it until pod ${object.namespace}/${object.name}, which makes room for it, has ended`,
      nextTry: other.metadata.deletionTimestamp,
      cure: { text: 'wait; the time that pod has to end is its terminationGracePeriodSeconds' },
    });
  });
}

/** The verdict of this cluster's scheduler on each node, or on the pod before it filtered nodes. */
async function verdictCause(pod: Pod, decision: PodDecision, evidence: Evidence): Promise<Cause> {
  const { nodes, nodesNotShown = 0, nodeCount, rejectedBy, message } = decision;
  const object = nameOfObject(Pods, pod);
  const plugins = [...new Set([rejectedBy ?? [], refusedBy(decision)].flat())];
  const [first] = plugins;
  const because = await objectCauses(
    pod,
    first === undefined ? ['VolumeBinding', 'DynamicResources'] : plugins,
    evidence,
  );
  if (nodeCount === 0)
    return cause({ code: 'NoNodes', object, message: 'there is no node', cure: { text: 'add a node' }, because });
  const facts = nodes
    .slice(0, MAX_NODES)
    .flatMap((node) =>
      refusals(node).map(
        ({ name, reasons = [], lacks = [] }) => `${node.name}: ${[...reasons, ...lacks].join('; ')} (${name})`,
      ),
    );
  const more = nodes.length + nodesNotShown - MAX_NODES;
  return cause({
    code: first === undefined ? 'Unschedulable' : `Unschedulable.${first}`,
    object,
    message,
    facts: more > 0 ? [...facts, `and ${more} more nodes`] : facts,
    // A missing object that rejects the pod before any node is filtered is the only cure.
    cure:
      nodes.length === 0 && because.length > 0
        ? undefined
        : refusalCure(nodes.slice(0, MAX_NODES), first, object.namespace ?? ''),
    because,
  });
}

/** Objects that the pod refers to and that make plugins reject it. */
async function objectCauses(pod: Pod, plugins: readonly string[], evidence: Evidence): Promise<readonly Cause[]> {
  const ofVolumes = plugins.some((name) => name.startsWith('Volume'));
  return [
    ...(ofVolumes ? await unboundClaimCauses(pod, evidence) : []),
    ...(plugins.includes('DynamicResources') ? await resourceClaimCauses(pod, evidence) : []),
  ];
}

function foreignCause(pod: Pod, message: string): Cause {
  const scheduler = pod.spec?.schedulerName ?? 'default-scheduler';
  return cause({
    code: 'SchedulerMissing',
    object: nameOfObject(Pods, pod),
    message: `it waits for scheduler ${scheduler}`,
    facts: [message],
    cure: { text: `run ${scheduler}, or leave out spec.schedulerName` },
  });
}

/** A plugin keeps the pod out of the queue, because an object that it refers to does not exist. */
async function heldBackCause(pod: Pod, message: string, evidence: Evidence): Promise<Cause> {
  return cause({
    code: 'HeldBack',
    object: nameOfObject(Pods, pod),
    message: 'the scheduler does not try it yet',
    facts: [message],
    cure: { text: 'see to what the message names' },
    because: await resourceClaimCauses(pod, evidence),
  });
}

/** Reasons of the nodes themselves: missing labels that the pod requires, and taints. */
async function excludedNodes(pod: Pod, evidence: Evidence): Promise<readonly string[]> {
  const refused = (await evidence.list(Nodes)).flatMap((node) => {
    const lacks = selectorLacks(pod, node);
    const taint = findUntoleratedTaint(
      node.spec?.taints ?? [],
      pod.spec?.tolerations ?? [],
      ({ effect }) => effect !== 'PreferNoSchedule',
    );
    const why = [...lacks, ...(taint === undefined ? [] : [`taint ${taintText(taint)}`])];
    return why.length === 0 ? [] : [`${node.metadata.name}: ${why.join('; ')}`];
  });
  return refused.length > MAX_NODES
    ? [...refused.slice(0, MAX_NODES), `and ${refused.length - MAX_NODES} more nodes`]
    : refused;
}

/** The causes in the pod's condition, when no scheduler reports its decisions. */
async function conditionCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const claims = await unboundClaimCauses(pod, evidence);
  const condition = podCondition(pod, 'PodScheduled');
  if (condition === undefined) return claims;
  if (condition.status !== 'False') return [];
  return [
    cause({
      code: condition.reason ?? 'Unschedulable',
      object: nameOfObject(Pods, pod),
      message: 'the scheduler finds no node for it',
      since: condition.lastTransitionTime ?? undefined,
      facts: [condition.message ?? '', ...(await excludedNodes(pod, evidence))],
      cure: { text: 'change what the message says of the nodes, or of the pod', command: 'kubectl describe nodes' },
      because: claims,
    }),
  ];
}
