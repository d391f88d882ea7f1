/** Predicts when a cluster notices a scenario's faults, from its leases, tolerations and controllers. */
import type { Node } from '../api/gen/core-v1.ts';
import { Leases, Nodes, Pods } from '../api/gen/resources.ts';
import { parseTime } from '../api/time.ts';
import { isNodeReady } from '../component-helpers/nodes.ts';
import { NODE_MONITOR_GRACE_MS, NODE_MONITOR_PERIOD_MS } from '../controllers/node-lifecycle/monitor-periods.ts';
import { toleratedMs } from '../controllers/taint-eviction/taint-eviction-controller.ts';
import type { Cluster } from './cluster.ts';
import { formatSpan } from './duration.ts';
import type { RunNotes } from './scenario-notes.ts';

const CONTROLLER = 'node-lifecycle-controller';
const UNREACHABLE = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' } as const;

/** The reason why a machine does not respond. */
export type Loss = 'has no power' | 'is cut off' | 'has no kubelet';

/** Notes when the cluster notices the loss of a machine, and what happens to its pods. */
export function noteLostNode(cluster: Cluster, notes: RunNotes, { node, loss }: { node: string; loss: Loss }): void {
  const head = `${node} ${loss}${loss === 'has no power' ? '' : '; its containers run on'}`;
  const lease = cluster.peek(Leases).find(({ metadata }) => metadata.name === node);
  const renewTime = lease?.spec?.renewTime;
  if (renewTime === undefined) {
    notes.fault(`${head}. It has no lease, so nobody will miss it`);
    return;
  }
  if (!cluster.faults.works(CONTROLLER)) {
    notes.fault(`${head}. Nobody notices while the ${CONTROLLER} does not run`);
    return;
  }
  const ageMs = cluster.nowMs - parseTime(renewTime);
  const earliestMs = cluster.clock.monotonicMs() + Math.max(0, NODE_MONITOR_GRACE_MS - ageMs);
  const latestMs = earliestMs + NODE_MONITOR_PERIOD_MS;
  notes.lose(node, { earliestMs, latestMs });
  notes.fault(
    `${head}. Its lease is ${formatSpan(ageMs)} old; when that is ${formatSpan(NODE_MONITOR_GRACE_MS)}, between ` +
      `${notes.timeText(earliestMs)} and ${notes.timeText(latestMs)}, the ${CONTROLLER} makes it Ready=Unknown. ` +
      evictionText(cluster, notes, node),
  );
}

/** What happens to the machine's pods once its node has the taint. */
function evictionText(cluster: Cluster, notes: RunNotes, node: string): string {
  const pods = cluster.peek(Pods).filter(({ spec }) => spec?.nodeName === node);
  if (pods.length === 0) return 'No pods are on it.';
  const isThere = (other: Node): boolean => isNodeReady(other) && !notes.isLost(other.metadata.name);
  if (!cluster.peek(Nodes).some(isThere)) return 'No other node is Ready, so no pod is deleted for it.';
  const byTime = Map.groupBy(pods, ({ spec }) => toleratedMs([UNREACHABLE], spec?.tolerations ?? []));
  const parts = [...byTime].toSorted(([a], [b]) => a - b).map(([ms, some]) => countText(some.length) + delayText(ms));
  return `By their tolerations of ${UNREACHABLE.key}, ${parts.join(', ')}.`;
}

function countText(count: number): string {
  return count === 1 ? '1 pod is ' : `${count} pods are `;
}

function delayText(ms: number): string {
  if (ms === Infinity) return 'never deleted';
  return ms === 0 ? 'deleted at once' : `deleted ${formatSpan(ms)} after that`;
}

/** Notes the consequences of the end of a control plane component. */
export function noteCrashedPart(notes: RunNotes, part: string): void {
  notes.fault(
    part === 'apiserver'
      ? 'clients are refused from now on; containers run on'
      : `nobody notices: what the ${part} would do is left undone until it starts again`,
  );
}
