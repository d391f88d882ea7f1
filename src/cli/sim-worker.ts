/** Worker thread that runs scenarios: it receives one file and one seed at a time and answers with the result. */
import { parentPort } from 'node:worker_threads';
import { errorMessage } from '../base/errors.ts';
import { loadCertificateLibrary } from '../component-helpers/pki/certificates.ts';
import { forbidGlobals } from '../platform/sim/virtual-clock-globals.ts';
import { runScenario, ScenarioError, type ScenarioResult } from '../testing/scenario-run.ts';
import { parseScenario } from '../testing/scenario.ts';

/** Request to the thread. */
export interface SimOrder {
  readonly id: number;
  /** Text of the scenario. */
  readonly text: string;
  readonly seed: number;
  /** Run the scenario twice and compare the results. */
  readonly twice: boolean;
  /** Collect what happens, line by line. */
  readonly timeline: boolean;
}

export interface SimAnswer {
  readonly id: number;
  readonly result?: ScenarioResult;
  readonly failure?: {
    readonly message: string;
    /** The failure without its place in the file. */
    readonly cause: string;
    readonly step: number;
    readonly timeline?: readonly string[] | undefined;
  };
}

async function run({ id, text, seed, twice, timeline }: SimOrder): Promise<SimAnswer> {
  try {
    const scenario = parseScenario(text);
    const result = await runScenario(scenario, seed, { timeline });
    if (!twice) return { id, result };
    const again = await runScenario(scenario, seed);
    if (again.hash === result.hash) return { id, result };
    const cause = 'two runs differ';
    return {
      id,
      failure: {
        cause,
        message: `${scenario.name} (seed ${seed}): two runs differ: ${result.hash} after ${result.changes} changes, ${again.hash} after ${again.changes}`,
        step: -1,
      },
    };
  } catch (error) {
    const message = errorMessage(error);
    if (!(error instanceof ScenarioError)) return { id, failure: { message, cause: String(error), step: -1 } };
    const cause = (error.cause as Error).message;
    return { id, failure: { message, cause, step: error.step, timeline: error.timeline } };
  }
}

// Faults make errors by the thousand; that a part of their stacks is left out makes those runs a tenth cheaper.
Error.stackTraceLimit = 4;
const prepared = loadCertificateLibrary().then(forbidGlobals);
parentPort?.on('message', (order: SimOrder) => {
  const send = (answer: SimAnswer): void => parentPort?.postMessage(answer);
  prepared
    .then(() => run(order))
    .then(send)
    // A result that cannot be sent to another thread fails its run.
    .catch((error: unknown) => {
      send({ id: order.id, failure: { message: String(error), cause: String(error), step: -1 } });
    });
});
