/** Explains why a node is not ready, or accepts no pods. */
import { Leases, Nodes } from '../../api/gen/resources.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import { taintText } from '../../api/taints-tolerations.ts';
import { parseTime } from '../../api/time.ts';
import { nodeCondition, isNodeReady } from '../../component-helpers/nodes.ts';
import { conditionCause } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

/** The cures of the pressure conditions. */
const PRESSURES: Readonly<Record<string, string>> = {
  MemoryPressure: 'end or move pods that use much memory, or give the node more',
  DiskPressure: 'free disk: remove images and logs, or give the node a larger disk',
  PIDPressure: 'end pods with many processes, or raise the limit of processes',
  NetworkUnavailable: 'see whether the network plugin runs on the node',
};

/**
 * Taints that the node controller derives from conditions, or from `spec.unschedulable`. Upstream: core/v1 well_known_taints.go.
 */
const CONDITION_TAINTS: ReadonlySet<string> = new Set(
  [
    'not-ready',
    'unreachable',
    'unschedulable',
    'memory-pressure',
    'disk-pressure',
    'network-unavailable',
    'pid-pressure',
  ].map((name) => `node.kubernetes.io/${name}`),
);

/** Upstream: node-monitor-grace-period. */
const SILENT_MS = 50_000;

export async function explainNode(node: Node, evidence: Evidence): Promise<Diagnosis> {
  const causes = [...(await readyCauses(node, evidence)), ...pressureCauses(node), ...closedCauses(node)];
  const summary = isNodeReady(node) ? 'is ready' : 'is not ready';
  if (causes.length > 0) return { state: 'Trouble', summary, causes };
  return { state: isNodeReady(node) ? 'Fine' : 'Unknown', summary, causes };
}

async function readyCauses(node: Node, evidence: Evidence): Promise<readonly Cause[]> {
  const ready = nodeCondition(node, 'Ready');
  if (ready?.status === 'True') return [];
  const object = nameOfObject(Nodes, node);
  if (ready?.status === 'False') {
    const stated = conditionCause(Nodes, node, ready);
    return [
      { ...stated, message: 'its kubelet says that it is not ready', cure: { text: 'mend what the message names' } },
    ];
  }
  const { object: lease, missing } = await evidence.get(Leases, { namespace: 'kube-node-lease', name: object.name });
  const renewed = lease?.spec?.renewTime;
  // A kubelet that renews its lease is running, whatever the node's conditions are.
  if (renewed != null && evidence.nowMs - parseTime(renewed) < SILENT_MS)
    return ready === undefined ? [] : [conditionCause(Nodes, node, ready)];
  if (ready === undefined && lease === undefined && !missing) return [];
  return [
    cause({
      code: 'KubeletSilent',
      object,
      message: `its kubelet ${renewed == null ? 'does not report its state' : `last reported at ${renewed}`}`,
      since: renewed ?? undefined,
      cure: { text: 'see whether the machine is on, reaches the API server, and runs the kubelet' },
    }),
  ];
}

function pressureCauses(node: Node): readonly Cause[] {
  return (node.status?.conditions ?? [])
    .filter(({ type, status }) => Object.hasOwn(PRESSURES, type) && status === 'True')
    .map((condition) => ({
      ...conditionCause(Nodes, node, condition),
      code: condition.type,
      cure: { text: PRESSURES[condition.type]! },
    }));
}

/** Taints and settings that keep pods away from a ready node. */
function closedCauses(node: Node): readonly Cause[] {
  const object = nameOfObject(Nodes, node);
  if (node.spec?.unschedulable === true)
    return [
      cause({
        code: 'Cordoned',
        object,
        message: 'it is cordoned: new pods are kept away',
        cure: { text: 'let pods onto it again', command: `kubectl uncordon ${object.name}` },
      }),
    ];
  // Taints of conditions are explained with the conditions.
  return (node.spec?.taints ?? [])
    .filter(({ key, effect }) => !CONDITION_TAINTS.has(key) && effect !== 'PreferNoSchedule')
    .map((taint) =>
      cause({
        code: 'Tainted',
        object,
        message: `its taint ${taintText(taint)} keeps pods away that do not tolerate it`,
        cure: { text: 'remove the taint', command: `kubectl taint node ${object.name} ${taint.key}:${taint.effect}-` },
      }),
    );
}
