/** Runs a scenario on virtual time, from a seed. */
import { errorMessage } from '../base/errors.ts';
import { image } from '../cri/sim/sim-image.ts';
import { Cluster } from './cluster.ts';
import { PodInvariants } from './pod-invariants.ts';
import { noteLines, RunNotes, type StepNote } from './scenario-notes.ts';
import { drawScenario, type Scenario } from './scenario.ts';
import { type ScenarioStep, steps as knownSteps } from './scenario-steps.ts';
import { type RunMoment, Timeline } from './timeline/timeline.ts';

/** How a run went. */
export interface ScenarioResult {
  readonly seed: number;
  readonly hash: string;
  /** Virtual time passed. */
  readonly virtualMs: number;
  readonly changes: number;
  readonly notes: readonly StepNote[];
  /** With the option `timeline`. */
  readonly timeline?: readonly string[] | undefined;
}

/** What a run collects beside its result. */
export interface RunOptions {
  /** Everything that happened, line by line. The run is the same with it. */
  readonly timeline?: boolean | undefined;
}

/** A run that did not go as expected. */
export class ScenarioError extends Error {
  readonly seed: number;
  /** Index of the step, from 0. */
  readonly step: number;
  /** With the option `timeline`. */
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
  let cluster: Cluster | undefined;
  let steps: StepRunner | undefined;
  const failed = (cause: unknown): ScenarioError => {
    const step = Math.min(steps?.notes.step ?? -1, scenario.steps.length - 1);
    return new ScenarioError(scenario, { seed, step, cause, notes: steps?.notes.all, timeline: timeline?.text() });
  };
  let outcome: Omit<ScenarioResult, 'timeline'>;
  try {
    const drawn = drawScenario(scenario, seed);
    cluster = await startCluster(drawn, seed, timeline);
    steps = new StepRunner(cluster, timeline);
    await steps.run(drawn.steps);
    const { hash, count } = cluster.eventLog();
    outcome = { seed, hash, virtualMs: steps.elapsedMs, changes: count, notes: steps.notes.all };
  } catch (error) {
    // The timeline gets its last changes when the cluster ends.
    await cluster?.stop();
    throw failed(error);
  }
  await cluster.stop();
  return { ...outcome, timeline: timeline?.text() };
}

function startCluster(
  { nodes = 1, controllers, schedulerConfig, images = {} }: Scenario,
  seed: number,
  timeline: Timeline | undefined,
): Promise<Cluster> {
  return Cluster.start({
    seed,
    sleepHint: false,
    nodes,
    controllers,
    schedulerConfig,
    images: Object.entries(images).map(([name, spec]) => image(name, spec)),
    history: timeline && (() => timeline),
  });
}

const MAX_STEP_LENGTH = 200;

/** Runs steps one after the other, and says so in the timeline. */
class StepRunner {
  readonly notes: RunNotes;
  readonly #cluster: Cluster;
  readonly #timeline: Timeline | undefined;
  readonly #invariants: PodInvariants;
  readonly #startMs: number;

  constructor(cluster: Cluster, timeline: Timeline | undefined) {
    this.#cluster = cluster;
    this.#timeline = timeline;
    this.#invariants = new PodInvariants(cluster);
    this.#startMs = cluster.clock.monotonicMs();
    this.notes = new RunNotes(cluster.clock, ({ step, text }) =>
      timeline?.mark(this.#moment(), `step ${step + 1}`, `note: ${text}`),
    );
  }

  get elapsedMs(): number {
    return this.#cluster.clock.monotonicMs() - this.#startMs;
  }

  async run(steps: readonly ScenarioStep[]): Promise<void> {
    const context = { cluster: this.#cluster, invariants: this.#invariants, vars: new Map(), notes: this.notes };
    for (const [index, step] of steps.entries()) {
      this.notes.step = index;
      const [[word, value] = ['', undefined]] = Object.entries(step);
      this.#mark(stepText(step));
      try {
        await knownSteps[word]!.run(context, value);
        this.#invariants.check();
      } catch (error) {
        this.#mark(`failed: ${errorMessage(error).split('\n', 1)[0]}`);
        throw error;
      }
    }
    this.#mark('passed');
  }

  #mark(text: string): void {
    this.#timeline?.mark(this.#moment(), `step ${this.notes.step + 1}`, text);
  }

  #moment(): RunMoment {
    const { nowMs, clock } = this.#cluster;
    return { revision: this.#cluster.eventLog().revision, nowMs, monotonicMs: clock.monotonicMs() };
  }
}

/** `crash: node/node-1`; of `apply` the objects' names. */
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
