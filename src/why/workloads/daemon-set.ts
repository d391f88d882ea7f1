/** Explains why a daemon set does not run on all eligible nodes. */
import { DaemonSets, Nodes } from '../../api/gen/resources.ts';
import type { DaemonSet, DaemonSetSpec } from '../../api/gen/apps-v1.ts';
import type { Node, PodSpec } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { taintText } from '../../api/taints-tolerations.ts';
import { daemonPodTaint } from '../../component-helpers/daemon-pods.ts';
import { selectorLacks } from '../../component-helpers/node-affinity.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { diagnoseUnobserved } from './observed.ts';
import { onDeleteCause } from './on-delete.ts';
import { ownedPods, unreadyPodCauses } from './owned-pods.ts';
import { refusedPodCauses } from './refused-pods.ts';

export async function explainDaemonSet(set: DaemonSet, evidence: Evidence): Promise<Diagnosis> {
  const { desiredNumberScheduled = 0, numberReady = 0, updatedNumberScheduled = 0 } = set.status ?? {};
  const summary = `is ready on ${numberReady} of ${desiredNumberScheduled} nodes, ${updatedNumberScheduled} of the newest template`;
  const unobserved = diagnoseUnobserved(DaemonSets, set, evidence.nowMs);
  if (unobserved !== undefined) return { ...unobserved, summary };
  if (desiredNumberScheduled === 0) return { state: 'Trouble', summary, causes: await noNodeCauses(set, evidence) };
  const isUpdated = updatedNumberScheduled >= desiredNumberScheduled || set.spec?.updateStrategy?.type === 'OnDelete';
  if (numberReady >= desiredNumberScheduled && isUpdated) {
    const causes =
      updatedNumberScheduled < desiredNumberScheduled ? [onDeleteCause(nameOfObject(DaemonSets, set))] : [];
    return { state: 'Fine', summary, causes };
  }
  const pods = await ownedPods(set, set.spec?.selector, evidence);
  const causes = [...(await refusedPodCauses(DaemonSets, set, evidence)), ...(await unreadyPodCauses(pods, evidence))];
  return { state: causes.length === 0 ? 'Progressing' : 'Trouble', summary, causes };
}

/** The limit of nodes that are listed with their reasons. */
const MAX_NODES = 3;
const LABEL: Cure = { text: 'label a node as its template asks', command: 'kubectl get nodes --show-labels' };
const TOLERATE: Cure = {
  text: 'tolerate the taint in its template, or remove it from a node',
  command: 'kubectl describe nodes',
};

async function noNodeCauses(set: DaemonSet, evidence: Evidence): Promise<readonly Cause[]> {
  const object = nameOfObject(DaemonSets, set);
  const nodes = await evidence.listAll(Nodes);
  if (nodes?.length === 0)
    return [cause({ code: 'NoNodes', object, message: 'there is no node', cure: { text: 'add a node' } })];
  const { template }: Partial<DaemonSetSpec> = set.spec ?? {};
  const spec = template?.spec ?? { containers: [] };
  const refusals = nodes?.map((node) => refusalOf(spec, node)) ?? [];
  // The node is eligible, and the controller has not observed it yet.
  if (refusals.some((refusal) => refusal === undefined)) return [];
  const known = refusals
    .filter((refusal) => refusal !== undefined)
    .toSorted((a, b) => Number(b.isTaint) - Number(a.isTaint));
  const facts = known.slice(0, MAX_NODES).map(({ text }) => text);
  if (known.length > MAX_NODES) facts.push(`and ${known.length - MAX_NODES} more nodes`);
  return [
    cause({
      code: 'NoNodeMatches',
      object,
      facts,
      ...reasonOf(nodes && known.filter(({ isTaint }) => isTaint).length),
    }),
  ];
}

/** @param tainted the number of nodes that match except for their taints; undefined when nodes may not be read */
function reasonOf(tainted: number | undefined): { readonly message: string; readonly cure: Cure } {
  const noMatch = 'no node matches its node selector and affinity';
  if (tainted === undefined)
    return { message: `${noMatch}, or all have taints that it does not tolerate`, cure: LABEL };
  if (tainted === 0) return { message: noMatch, cure: LABEL };
  const nodes = tainted === 1 ? 'the node that matches' : `the ${tainted} nodes that match`;
  return {
    message: `${nodes} its node selector and affinity ${tainted === 1 ? 'has a taint' : 'have taints'} that it does not tolerate`,
    cure: TOLERATE,
  };
}

/** The reason why pods of the template do not run on the node; undefined when they may. */
function refusalOf(
  spec: PodSpec,
  node: Stored<Node>,
): { readonly isTaint: boolean; readonly text: string } | undefined {
  const { name } = node.metadata;
  const lacks = selectorLacks({ metadata: {}, spec }, node);
  if (lacks.length > 0) return { isTaint: false, text: `${name}: ${lacks.join('; ')}` };
  const taint = daemonPodTaint(spec, node);
  return taint && { isTaint: true, text: `${name}: taint ${taintText(taint)}` };
}
