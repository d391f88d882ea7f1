/** Runs a scenario on virtual time, from a seed. */
import { errorMessage } from '../base/errors.ts';
import { image } from '../cri/sim/sim-image.ts';
import { Cluster } from './cluster.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { PodInvariants } from './pod-invariants.ts';
import type { RunMark } from './run-marks.ts';
import { noteLines, RunNotes, type StepNote } from './scenario-notes.ts';
import { drawScenario, type Scenario } from './scenario.ts';
import { type ScenarioStep, steps as knownSteps } from './scenario-steps.ts';
import { Timeline } from './timeline/timeline.ts';

/** The result of a run. */
export interface ScenarioResult {
  readonly seed: number;
  readonly hash: string;
  /** The virtual time that passed. */
  readonly virtualMs: number;
  readonly changes: number;
  readonly notes: readonly StepNote[];
  /** Present with the option `timeline`. */
  readonly timeline?: readonly string[] | undefined;
}

/** Records of a run beside its result. */
interface RunOptions {
  /** Records all events line by line, without an effect on the run. */
  readonly timeline?: boolean | undefined;
}

/** The error of a run that did not go as expected. */
export class ScenarioError extends Error {
  readonly seed: number;
  /** The index of the failed step, from 0. */
  readonly step: number;
  /** Present with the option `timeline`. */
  readonly timeline: readonly string[] | undefined;

  constructor(scenario: Scenario, { seed, step, cause, notes = [], timeline }: ScenarioFailure) {
    const shown = JSON.stringify(scenario.steps[step] ?? 'start').slice(0, 200);
    const message = `${scenario.name} (seed ${seed}), step ${step + 1} ${shown}: ${(cause as Error).message}`;
    super([message, ...noteLines(notes)].join('\n'), { cause });
    this.name = 'ScenarioError';
    this.seed = seed;
    this.step = step;
    this.timeline = timeline;
  }
}

interface ScenarioFailure {
  readonly seed: number;
  readonly step: number;
  readonly cause: unknown;
  readonly notes?: readonly StepNote[] | undefined;
  readonly timeline?: readonly string[] | undefined;
}

/** Runs a scenario once. Rejects with a `ScenarioError`. */
export async function runScenario(scenario: Scenario, seed: number, options: RunOptions = {}): Promise<ScenarioResult> {
  const timeline = options.timeline === true ? new Timeline() : undefined;
  const { cluster, outcome } = await playScenario(scenario, seed, {
    onMark: timeline && ((mark) => timeline.mark(mark)),
    cluster: { history: timeline && (() => timeline) },
  });
  // The timeline receives its last changes when the cluster stops.
  await cluster?.stop();
  if ('cause' in outcome) throw new ScenarioError(scenario, { ...outcome, seed, timeline: timeline?.text() });
  return { ...outcome, timeline: timeline?.text() };
}

/** Observes a run while it runs. */
export interface RunFollower {
  readonly onMark?: ((mark: RunMark) => void) | undefined;
  /** Settings of the cluster that do not affect the run. */
  readonly cluster: Pick<ClusterOptions, 'history' | 'routes' | 'log' | 'console'>;
}

/** A run that has ended, with its cluster at that moment. */
export interface EndedRun {
  /** Undefined when it did not start. The caller stops it. */
  readonly cluster: Cluster | undefined;
  readonly outcome: Omit<ScenarioResult, 'timeline'> | Omit<ScenarioFailure, 'seed' | 'timeline'>;
}

/** Runs a scenario once and leaves its cluster in the state at the end of the run. */
export async function playScenario(scenario: Scenario, seed: number, follower: RunFollower): Promise<EndedRun> {
  let cluster: Cluster | undefined;
  let steps: StepRunner | undefined;
  try {
    const drawn = drawScenario(scenario, seed);
    cluster = await startCluster(drawn, seed, follower.cluster);
    steps = new StepRunner(cluster, follower.onMark);
    await steps.run(drawn.steps);
    const { hash, count } = cluster.eventLog();
    const outcome = { seed, hash, virtualMs: steps.elapsedMs, changes: count, notes: steps.notes.all };
    return { cluster, outcome };
  } catch (cause) {
    const step = Math.min(steps?.notes.step ?? -1, scenario.steps.length - 1);
    return { cluster, outcome: { step, cause, notes: steps?.notes.all } };
  }
}

function startCluster(
  { nodes = 1, controllers, schedulerConfig, images = {} }: Scenario,
  seed: number,
  options: RunFollower['cluster'],
): Promise<Cluster> {
  return Cluster.start({
    ...options,
    seed,
    sleepHint: false,
    nodes,
    controllers,
    schedulerConfig,
    images: Object.entries(images).map(([name, spec]) => image(name, spec)),
  });
}

const MAX_STEP_LENGTH = 200;

/** Runs steps one after the other, and marks each. */
class StepRunner {
  readonly notes: RunNotes;
  readonly #cluster: Cluster;
  readonly #onMark: ((mark: RunMark) => void) | undefined;
  readonly #invariants: PodInvariants;
  readonly #startMs: number;

  constructor(cluster: Cluster, onMark: ((mark: RunMark) => void) | undefined) {
    this.#cluster = cluster;
    this.#onMark = onMark;
    this.#invariants = new PodInvariants(cluster);
    this.#startMs = cluster.clock.monotonicMs();
    this.notes = new RunNotes(cluster.clock, ({ step, text }) => this.#mark('note', text, step));
  }

  get elapsedMs(): number {
    return this.#cluster.clock.monotonicMs() - this.#startMs;
  }

  async run(steps: readonly ScenarioStep[]): Promise<void> {
    const context = { cluster: this.#cluster, invariants: this.#invariants, vars: new Map(), notes: this.notes };
    for (const [index, step] of steps.entries()) {
      this.notes.step = index;
      const [[word, value] = ['', undefined]] = Object.entries(step);
      this.#mark('step', stepText(step));
      try {
        await knownSteps[word]!.run(context, value);
        this.#invariants.check();
      } catch (error) {
        this.#mark('failed', errorMessage(error).split('\n', 1)[0]!);
        throw error;
      }
    }
    this.#mark('passed', 'passed');
  }

  #mark(kind: RunMark['kind'], text: string, step = this.notes.step): void {
    const { nowMs, clock } = this.#cluster;
    const { revision } = this.#cluster.eventLog();
    this.#onMark?.({ step, kind, text, revision, nowMs, monotonicMs: clock.monotonicMs() });
  }
}

/** The text of a step: `crash: node/node-1`; for `apply`, the names of the objects. */
function stepText(step: ScenarioStep): string {
  const [[word, value] = ['', undefined]] = Object.entries(step);
  const objects = word === 'apply' && typeof value === 'object' ? [value].flat() : [];
  if (objects.length > 0) return `apply: ${objects.map(objectName).join(', ')}`;
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `${word}: ${text.length > MAX_STEP_LENGTH ? `${text.slice(0, MAX_STEP_LENGTH)}…` : text}`;
}

function objectName(object: unknown): string {
  const { kind, metadata } = object as { kind?: unknown; metadata?: { name?: unknown } };
  return `${String(kind).toLowerCase()}/${String(metadata?.name)}`;
}
