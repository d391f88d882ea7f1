/**
 * The nodes on which making room would help, as many as are wanted, looked for from some place on. Upstream:
 * preemption.Evaluator.findCandidates and DryRunPreemption.
 *
 * What a node's answer was is remembered for pods of one class and priority while neither the node nor the pods promised to
 * it change, so that in a large cluster a pod asks the changed nodes alone. Only where that is all an answer depends on:
 * every filter looks at pod and node alone, no disruption budget counts, and no extender judged the nodes.
 */
import { Lru } from '../../../base/lru.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { podClassKey } from '../../framework/pod-class.ts';
import type { Status } from '../../framework/status.ts';
import { priorityOf, selectVictims, type Candidate, type VictimSearch } from './victims.ts';

/** Where to look, and how far. */
export interface CandidateSearch extends VictimSearch {
  readonly snapshot: Snapshot;
  /** Why each node was refused. */
  readonly statuses: ReadonlyMap<string, Status>;
  /** Some of them are extenders' answers. */
  readonly checkedByExtenders: boolean;
  /** Index of the node to begin with. */
  readonly offset: number;
  /** The number of candidates that is enough, if one of them violates no disruption budget. */
  readonly enough: number;
}

export interface FoundCandidates {
  readonly candidates: readonly Candidate[];
  /** Why not on the other nodes that were looked at; only when there is no candidate. */
  readonly refused: ReadonlyMap<string, Status>;
}

type Answer = Candidate | Status | undefined;

/** Undefined: nothing that is done on the node would help. */
function answerOf(search: CandidateSearch, node: NodeInfo): Answer {
  return search.statuses.get(node.name)?.code === 'unschedulable' ? selectVictims(search, node) : undefined;
}

const isCandidate = (answer: Answer): answer is Candidate => answer !== undefined && !('code' in answer);

const UNKNOWN = 0;
const HOPELESS = 1;
const CANDIDATE = 2;

/** What is known of the nodes for one class and priority, in arrays by slot. */
class ClassAnswers {
  #nodes: readonly NodeInfo[] = [];
  /** By the nodes' order. */
  #slots = new Int32Array(0);
  #kinds = new Uint8Array(0);
  #answers: Answer[] = [];
  #sequence = -1;
  #promises = -1;

  /** Forgets what has changed. */
  refresh({ snapshot, nominations }: CandidateSearch): void {
    const { tracker, nodes } = snapshot;
    const forget = (slot: number): void => {
      this.#kinds[slot] = UNKNOWN;
    };
    if (
      this.#nodes !== nodes ||
      !tracker.changesSince(this.#sequence, forget) ||
      !nominations.changesSince(this.#promises, (name) => forget(snapshot.byName(name)?.slot ?? -1))
    ) {
      this.#nodes = nodes;
      this.#slots = Int32Array.from(nodes, ({ slot }) => slot);
      this.#kinds = new Uint8Array(tracker.generations.length);
      this.#answers = [];
    }
    this.#sequence = tracker.sequence;
    this.#promises = nominations.changes;
  }

  /** `own`: the node promised to the pod itself, whose answer other pods of the class do not share. */
  find(search: CandidateSearch, own: NodeInfo | undefined): Candidate[] {
    const { offset, enough } = search;
    const { length } = this.#slots;
    const found: Candidate[] = [];
    let harmless = false;
    if (own !== undefined) this.#kinds[own.slot] = UNKNOWN;
    for (let i = 0; i < length && !(harmless && found.length >= enough); i++) {
      const at = offset + i < length ? offset + i : offset + i - length;
      const slot = this.#slots[at] as number;
      if (this.#kinds[slot] === HOPELESS) continue;
      if (this.#kinds[slot] === UNKNOWN) this.#ask(search, at, slot);
      const answer = this.#answers[slot];
      if (!isCandidate(answer)) continue;
      found.push(answer);
      harmless ||= answer.violations === 0;
    }
    if (own !== undefined) this.#kinds[own.slot] = UNKNOWN;
    return found;
  }

  /** After a search that found nothing, and so asked everywhere. */
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
    this.#kinds[slot] = isCandidate(answer) ? CANDIDATE : HOPELESS;
  }
}

const CLASSES = 16;
const NOBODY: ReadonlyMap<string, Status> = new Map();

/** Finds candidates, remembering. */
export function createCandidateFinder(): (search: CandidateSearch) => FoundCandidates {
  const memory = new Lru<string, ClassAnswers>(CLASSES);
  return (search) => {
    const { pod, filters, budgets, snapshot, nominations } = search;
    const remembers =
      budgets.length === 0 && !search.checkedByExtenders && filters.every((plugin) => plugin.nodeLocal === true);
    if (!remembers) return searchAll(search);
    const key = [priorityOf(pod), ...filters.map(({ name }) => name), podClassKey(pod)].join('|');
    let known = memory.get(key);
    if (known === undefined) memory.set(key, (known = new ClassAnswers()));
    known.refresh(search);
    const candidates = known.find(search, snapshot.byName(nominations.nodeOf(pod) ?? ''));
    return { candidates, refused: candidates.length > 0 ? NOBODY : known.refusals() };
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
  return { candidates, refused: candidates.length > 0 ? NOBODY : refused };
}
