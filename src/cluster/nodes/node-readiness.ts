/** Whether the control plane sees a node Ready. */
import { Nodes } from '../../api/gen/resources.ts';
import { nodeCondition } from '../../component-helpers/nodes.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';

/** The reason why the node is not Ready; undefined where it is Ready and schedulable. */
export function whyNotReady(server: ControlPlane['server'], name: string): string | undefined {
  const node = server.objects.get(Nodes, '', name);
  const ready = nodeCondition(node, 'Ready');
  const isTainted = node?.spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') === true;
  if (ready?.status === 'True' && !isTainted) return undefined;
  return ready?.message ?? 'it has not registered';
}

const POLL_MS = 20;

export interface Waiting {
  readonly deadlineMs: number;
  /** Whether waiting longer is useless. */
  readonly isHopeless: () => boolean;
  readonly isReady: () => Promise<boolean>;
}

/** Resolves to whether the node becomes Ready before the deadline. */
export async function becomesReady(clock: Clock, waiting: Waiting, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    if (waiting.isHopeless()) return false;
    if (await waiting.isReady()) return true;
    if (clock.monotonicMs() > waiting.deadlineMs) return false;
    await clock.sleep(POLL_MS, signal);
  }
}
