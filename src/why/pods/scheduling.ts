/** Why a pod has no node: gates, no scheduler, or what each plugin of the scheduler says. */
import { PersistentVolumeClaims, Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { NodeVerdict, PodWhy } from '../../component-helpers/pod-why.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';
import { PLUGIN_CURES } from './plugin-cures.ts';
import { appendAll } from '../../base/lists.ts';

/** Nodes whose verdict is told word for word. */
const MAX_NODES = 3;

export async function schedulingCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const gates = gateCauses(pod);
  if (gates.length > 0) return gates;
  const claims = await claimCauses(pod, evidence);
  const why = await evidence.subresource<PodWhy>(Pods, pod.metadata as { name: string; namespace: string }, 'why');
  const decision = why?.now ?? why?.lastDecision;
  if (why !== undefined && decision?.result === 'Unschedulable')
    return [verdictCause(pod, why, decision.nodes, claims)];
  if (why?.state === 'Foreign') return [foreignCause(pod, why.message)];
  return [...conditionCauses(pod, claims), ...(podCondition(pod, 'PodScheduled') === undefined ? claims : [])];
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

/** Claims that are missing, or that wait for something else than this pod. */
async function claimCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '' } = pod.metadata;
  const causes: Cause[] = [];
  for (const { persistentVolumeClaim } of pod.spec?.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue;
    const key = { namespace, name: persistentVolumeClaim.claimName };
    const { object: claim, missing } = await evidence.get(PersistentVolumeClaims, key);
    if (missing)
      causes.push(
        cause({
          code: 'ClaimMissing',
          object: nameOf(PersistentVolumeClaims, key),
          message: `claim ${key.name} does not exist`,
          cure: { text: `create persistent volume claim ${key.name} in namespace ${namespace}` },
        }),
      );
    else if (claim !== undefined && claim.status?.phase !== 'Bound')
      appendAll(causes, await evidence.causesOf(PersistentVolumeClaims, claim));
  }
  return causes;
}

/** What the scheduler of this cluster says of its nodes. */
function verdictCause(pod: Pod, why: PodWhy, nodes: readonly NodeVerdict[], claims: readonly Cause[]): Cause {
  const plugins = [...new Set(nodes.flatMap((node) => refusals(node).map(({ name }) => name)))];
  const facts = nodes
    .slice(0, MAX_NODES)
    .flatMap((node) => [
      ...refusals(node).map(
        ({ name, reasons = [], lacks = [] }) => `${node.name}: ${[...reasons, ...lacks].join('; ')} (${name})`,
      ),
    ]);
  const first = plugins[0];
  const cure = first === undefined ? undefined : PLUGIN_CURES[first];
  return cause({
    code: first === undefined ? 'NoNodes' : `Unschedulable.${first}`,
    object: nameOfObject(Pods, pod),
    message:
      nodes.length === 0
        ? 'there is no node'
        : `no node suits it (${nodes.length} ${nodes.length === 1 ? 'was' : 'were'} asked): ${(why.now ?? why.lastDecision)?.message ?? ''}`,
    facts: [...facts, ...(nodes.length > MAX_NODES ? [`and ${nodes.length - MAX_NODES} more nodes`] : [])],
    cure: cure ?? { text: 'add a node' },
    because: claims,
  });
}

function refusals(node: NodeVerdict): NodeVerdict['plugins'] {
  return node.plugins.filter(({ verdict }) => verdict !== 'Passed');
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

/** What the condition says, where no scheduler answers. */
function conditionCauses(pod: Pod, claims: readonly Cause[]): readonly Cause[] {
  const condition = podCondition(pod, 'PodScheduled');
  if (condition?.status !== 'False') return [];
  return [
    cause({
      code: condition.reason ?? 'Unschedulable',
      object: nameOfObject(Pods, pod),
      message: 'the scheduler finds no node for it',
      since: condition.lastTransitionTime ?? undefined,
      facts: [condition.message ?? ''],
      because: claims,
    }),
  ];
}
