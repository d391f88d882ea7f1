/**
 * Finds the nodes on which preemption would help, from an offset on, up to a number. Upstream:
 * preemption.Evaluator.findCandidates and DryRunPreemption.
 *
 * A node's result is kept for pods of one class and priority while the node and the pods nominated to it do not
 * change, so in a large cluster only changed nodes are simulated. This holds only where every filter depends on pod
 * and node alone, no disruption budget matters, and no extender filtered the nodes.
 */
import { Lru } from '../../../base/lru.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { podClassKey } from '../../framework/pod-class.ts';
import type { Status } from '../../framework/status.ts';
import { priorityOf, selectVictims, type Candidate, type VictimSearch } from './victims.ts';

/** The nodes to search, and when to stop. */
export interface CandidateSearch extends VictimSearch {
  readonly snapshot: Snapshot;
  /** Why each node was rejected. */
  readonly statuses: ReadonlyMap<string, Status>;
  /** Some of them come from extenders. */
  readonly checkedByExtenders: boolean;
  /** Index of the first node. */
  readonly offset: number;
  /** The search stops at this number of candidates, if one of them violates no disruption budget. */
  readonly enough: number;
}

export interface FoundCandidates {
  readonly candidates: readonly Candidate[];
  /** Why the other examined nodes do not help; only when there is no candidate. */
  readonly refused: ReadonlyMap<string, Status>;
}

type Answer = Candidate | Status | undefined;

/** Undefined: no preemption on the node would help. */
function answerOf(search: CandidateSearch, node: NodeInfo): Answer {
  return search.statuses.get(node.name)?.code === 'unschedulable' ? selectVictims(search, node) : undefined;
}

const isCandidate = (answer: Answer): answer is Candidate => answer !== undefined && !('code' in answer);

const UNKNOWN = 0;
const NO_CANDIDATE = 1;
const CANDIDATE = 2;

/** The results of the nodes for one class and priority, in arrays by slot. */
class ClassAnswers {
  #nodes: readonly NodeInfo[] = [];
  /** By the nodes' order. */
  #slots = new Int32Array(0);
  #kinds = new Uint8Array(0);
  #answers: Answer[] = [];
  #sequence = -1;
  #nominationChanges = -1;

  /** Forgets the results of changed nodes. */
  refresh({ snapshot, nominations }: CandidateSearch): void {
    const { tracker, nodes } = snapshot;
    const forget = (slot: number): void => {
      this.#kinds[slot] = UNKNOWN;
    };
    if (
      this.#nodes !== nodes ||
      !tracker.changesSince(this.#sequence, forget) ||
      !nominations.changesSince(this.#nominationChanges, (name) => forget(snapshot.byName(name)?.slot ?? -1))
    ) {
      this.#nodes = nodes;
      this.#slots = Int32Array.from(nodes, ({ slot }) => slot);
      this.#kinds = new Uint8Array(tracker.generations.length);
      this.#answers = [];
    }
    this.#sequence = tracker.sequence;
    this.#nominationChanges = nominations.changes;
  }

  /** `own`: the nominated node of the pod itself, whose result is not shared with other pods of the class. */
  find(search: CandidateSearch, own: NodeInfo | undefined): Candidate[] {
    const { offset, enough } = search;
    const { length } = this.#slots;
    const candidates: Candidate[] = [];
    let harmless = false;
    if (own !== undefined) this.#kinds[own.slot] = UNKNOWN;
    for (let i = 0; i < length && !(harmless && candidates.length >= enough); i++) {
      const at = offset + i < length ? offset + i : offset + i - length;
      const slot = this.#slots[at] as number;
      if (this.#kinds[slot] === NO_CANDIDATE) continue;
      if (this.#kinds[slot] === UNKNOWN) this.#ask(search, at, slot);
      const answer = this.#answers[slot];
      if (!isCandidate(answer)) continue;
      candidates.push(answer);
      harmless ||= answer.violations === 0;
    }
    if (own !== undefined) this.#kinds[own.slot] = UNKNOWN;
    return candidates;
  }

  /** The statuses after a search that found nothing, which examined all nodes. */
  refusals(): Map<string, Status> {
    const refused = new Map<string, Status>();
    this.#slots.forEach((slot, at) => {
      const answer = this.#answers[slot];
      if (answer !== undefined && !isCandidate(answer)) refused.set((this.#nodes[at] as NodeInfo).name, answer);
    });
    return refused;
  }

  #ask(search: CandidateSearch, at: number, slot: number): void {
    const answer = answerOf(search, this.#nodes[at] as NodeInfo);
    this.#answers[slot] = answer;
    this.#kinds[slot] = isCandidate(answer) ? CANDIDATE : NO_CANDIDATE;
  }
}

const CLASSES = 16;
const NO_STATUSES: ReadonlyMap<string, Status> = new Map();

/** Finds candidates, remembering. */
export function createCandidateFinder(): (search: CandidateSearch) => FoundCandidates {
  const memory = new Lru<string, ClassAnswers>(CLASSES);
  return (search) => {
    const { pod, filters, budgets, snapshot, nominations } = search;
    const remembers =
      budgets.isEmpty && !search.checkedByExtenders && filters.every((plugin) => plugin.nodeLocal === true);
    if (!remembers) return searchAll(search);
    const key = [priorityOf(pod), ...filters.map(({ name }) => name), podClassKey(pod)].join('|');
    let classAnswers = memory.get(key);
    if (classAnswers === undefined) memory.set(key, (classAnswers = new ClassAnswers()));
    classAnswers.refresh(search);
    const candidates = classAnswers.find(search, snapshot.byName(nominations.nodeOf(pod) ?? ''));
    return { candidates, refused: candidates.length > 0 ? NO_STATUSES : classAnswers.refusals() };
  };
}

function searchAll(search: CandidateSearch): FoundCandidates {
  const { snapshot, offset, enough } = search;
  const { nodes } = snapshot;
  const candidates: Candidate[] = [];
  const refused = new Map<string, Status>();
  let harmless = false;
  for (let i = 0; i < nodes.length && !(harmless && candidates.length >= enough); i++) {
    const node = nodes[(offset + i) % nodes.length] as NodeInfo;
    const answer = answerOf(search, node);
    if (isCandidate(answer)) {
      candidates.push(answer);
      harmless ||= answer.violations === 0;
    } else if (answer !== undefined) refused.set(node.name, answer);
  }
  return { candidates, refused: candidates.length > 0 ? NO_STATUSES : refused };
}
