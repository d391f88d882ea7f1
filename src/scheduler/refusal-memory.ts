/**
 * When no node fits a class of pods, the next pod of the class filters only the nodes that have changed since: a full
 * cluster rejects thousands of pods at the cost of its changes. Used only where every filter depends on pod and node
 * alone.
 */
import type { NodeInfo, Snapshot } from './cache/node-info.ts';
import type { ClassMemory } from './framework/class-memory.ts';
import type { Status } from './framework/status.ts';

export interface RefusalQuestion {
  readonly memory: ClassMemory;
  readonly snapshot: Snapshot;
  /** Filters a node with its nominated pods. */
  readonly ask: (node: NodeInfo) => Status | undefined;
  /** Filters a node without its nominated pods. */
  readonly askAlone: (node: NodeInfo) => Status | undefined;
}

/** The statuses of all nodes, shared with earlier pods; undefined: some node may fit, and all must be filtered. */
export function stillRefused(question: RefusalQuestion): ReadonlyMap<string, Status> | undefined {
  const { memory, snapshot, ask, askAlone } = question;
  const { refusals: last } = memory;
  if (last === undefined || last.nodes !== snapshot.nodes) return undefined;
  const { tracker } = snapshot;
  const changed = new Set(last.expecting);
  const known = tracker.changesSince(last.sequence, (slot) => {
    const info = tracker.infos[slot];
    if (info !== undefined) changed.add(info);
  });
  memory.refusals = undefined;
  if (!known) return undefined;
  let copy: Map<string, Status> | undefined;
  const expecting = new Set<NodeInfo>();
  for (const node of changed) {
    const status = ask(node);
    if (status === undefined) return undefined;
    if (askAlone(node) === undefined) expecting.add(node);
    if (!isEqualStatus(last.statuses.get(node.name), status)) (copy ??= new Map(last.statuses)).set(node.name, status);
  }
  const statuses = copy ?? last.statuses;
  memory.refusals = { nodes: last.nodes, sequence: tracker.sequence, statuses, expecting };
  return statuses;
}

/** Records that no node fits. The map must not change any more. */
export function recordRefusals(question: RefusalQuestion, statuses: ReadonlyMap<string, Status>): void {
  const { memory, snapshot, askAlone } = question;
  const { nodes, tracker } = snapshot;
  const expecting = new Set(nodes.filter((node) => askAlone(node) === undefined));
  memory.refusals = { nodes, sequence: tracker.sequence, statuses, expecting };
}

function isEqualStatus(a: Status | undefined, b: Status): boolean {
  return a === b || (a?.code === b.code && a.plugin === b.plugin && a.reasons.join() === b.reasons.join());
}
