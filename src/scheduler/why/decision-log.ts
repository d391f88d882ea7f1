/**
 * The scheduler's recent decisions, as references to what the cycle computed: scheduling copies nothing. Memory is
 * bounded by the number of nodes in all kept decisions. A pending pod's last message is kept until the pod leaves the
 * queue.
 */
import type { Scored } from '../framework/profile.ts';
import type { Status } from '../framework/status.ts';

export interface Decision {
  readonly uid: string;
  /** Wall clock. */
  readonly atMs: number;
  /** Absent: no node fits. */
  readonly nodeName?: string;
  readonly message: string;
  readonly nodeCount: number;
  readonly statuses: ReadonlyMap<string, Status>;
  readonly scored?: Scored;
  /** Names of the plugins whose Filter ran. */
  readonly filters: readonly string[];
}

export interface DecisionLog {
  add(decision: Decision): void;
  /** The last decision about a pod, if it is still kept. */
  last(uid: string): Decision | undefined;
  /** The last message about a pending pod; kept longer than its decision. */
  waitingMessage(uid: string): string | undefined;
  /** Removes the message of a pod that left the queue. */
  leaves(uid: string): void;
}

/** The most decisions kept. */
const MAX_DECISIONS = 256;
const MAX_NODE_ENTRIES = 50_000;

export function createDecisionLog(): DecisionLog {
  /** By uid, oldest first. */
  const decisions = new Map<string, Decision>();
  const messages = new Map<string, string>();
  let entries = 0;
  const sizeOf = ({ statuses, scored }: Decision): number => statuses.size + (scored?.nodes.length ?? 0);
  const drop = (uid: string): void => {
    const decision = decisions.get(uid);
    if (decision === undefined) return;
    decisions.delete(uid);
    entries -= sizeOf(decision);
  };
  return {
    add(decision) {
      drop(decision.uid);
      decisions.set(decision.uid, decision);
      entries += sizeOf(decision);
      if (decision.nodeName === undefined) messages.set(decision.uid, decision.message);
      for (const oldest of decisions.keys()) {
        if (decisions.size <= 1 || (decisions.size <= MAX_DECISIONS && entries <= MAX_NODE_ENTRIES)) break;
        drop(oldest);
      }
    },
    last: (uid) => decisions.get(uid),
    waitingMessage: (uid) => messages.get(uid),
    leaves: (uid) => messages.delete(uid),
  };
}
