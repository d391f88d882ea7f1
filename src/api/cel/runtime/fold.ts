/** Loops. Upstream: evalFold and folder in cel-go interpreter/interpretable.go. */
import type { Fold } from '../language/expr.ts';
import { copyWork } from '../meter.ts';
import type { Env, Plan, Step } from './env.ts';
import { GrowingList, GrowingMap } from './growing.ts';
import { goTypeName } from './go-type-name.ts';
import { Failure, isMapValue, mapEntries, mapKeys } from './values.ts';

/** The planned parts of a loop. `slot` is the accumulator's; the iteration variables follow it. */
interface PlannedFold {
  readonly fold: Fold;
  readonly slot: number;
  /** The maximum number of steps of one iteration. */
  readonly steps: number;
  readonly range: Step;
  readonly init: Step;
  readonly condition: Plan;
  readonly step: Step;
  readonly result: Step;
}

/** Runs a loop. */
export function foldLoop(planned: PlannedFold): Step {
  const { fold, slot, range, init, result } = planned;
  const collects = fold.accuVar === '@result';
  return (env) => {
    const value = range(env);
    if (value instanceof Failure) return value;
    const { slots } = env;
    // The accumulator is evaluated at its first read, as upstream: without a read it costs nothing.
    slots[slot] = () => (slots[slot] = startOf(init(env), collects));
    const failure = fold.iterVar2 === undefined ? loopOne(env, value, planned) : loopTwo(env, value, planned);
    if (failure !== undefined) return failure;
    const made = result(env);
    return made instanceof GrowingList || made instanceof GrowingMap ? made.settled() : made;
  };
}

function startOf(value: unknown, collects: boolean): unknown {
  if (!collects) return value;
  if (Array.isArray(value) && value.length === 0) return new GrowingList();
  return value instanceof Map && value.size === 0 ? new GrowingMap() : value;
}

function loopOne(env: Env, range: unknown, planned: PlannedFold): Failure | undefined {
  const { slot } = planned;
  if (!Array.isArray(range) && !isMapValue(range))
    return new Failure(`got '${goTypeName(range)}', expected iterable type`);
  for (const item of Array.isArray(range) ? range : mapKeys(range)) {
    env.slots[slot + 1] = item;
    if (!runIteration(env, planned)) return undefined;
  }
  return undefined;
}

function loopTwo(env: Env, range: unknown, planned: PlannedFold): Failure | undefined {
  const { slot } = planned;
  if (!Array.isArray(range) && !isMapValue(range))
    return new Failure(`unsupported comprehension range type: ${goTypeName(range)}`);
  const isList = Array.isArray(range);
  for (const [key, item] of isList ? range.entries() : mapEntries(range)) {
    env.slots[slot + 1] = isList ? BigInt(key as number) : key;
    env.slots[slot + 2] = item;
    if (!runIteration(env, planned)) return undefined;
  }
  return undefined;
}

/** The overhead of one iteration, in steps. */
const TURN = 25;

/** Runs one iteration; false when the loop is over. Constants, choices and short-circuits have no price, but count as work. */
function runIteration(env: Env, { condition, step, steps, slot }: PlannedFold): boolean {
  copyWork(TURN + steps);
  if (condition.step(env) === false) return false;
  env.slots[slot] = step(env);
  return true;
}
