/** Shrinks a failing scenario: writes out values drawn from the seed and removes what the failure does not need. */
import { drawScenario, type Scenario, type ScenarioStep } from '../testing/scenario.ts';
import type { SimAnswer } from './sim-worker.ts';

/** The failure of a run; undefined when it passed. */
export type FailureOf = (scenario: Scenario) => Promise<SimAnswer['failure']>;

/**
 * The smallest scenario found that fails in its last step as this one does with its seed.
 * @param failing runs a scenario with that seed
 */
export async function shrinkScenario(
  scenario: Scenario & { readonly seed: number },
  failure: NonNullable<SimAnswer['failure']>,
  failing: FailureOf,
): Promise<Scenario> {
  const kind = kindOf(failure.cause);
  const steps = scenario.steps.slice(0, failure.step + 1);
  let best = drawScenario({ ...scenario, steps }, scenario.seed);
  const attempt = async (tried: Scenario): Promise<void> => {
    const now = await failing(tried);
    if (now !== undefined && now.step === tried.steps.length - 1 && kindOf(now.cause) === kind) best = tried;
  };
  // The last first: what later steps need is still there when it is their turn.
  for (let index = best.steps.length - 2; index >= 0; index--)
    await attempt({ ...best, steps: best.steps.toSpliced(index, 1) });
  for (let index = best.steps.length - 1; index >= 0; index--) {
    const { apply } = best.steps[index] as { apply?: unknown };
    for (let item = Array.isArray(apply) ? apply.length - 1 : -1; item >= 0; item--) {
      const objects = (best.steps[index] as { apply: unknown[] }).apply;
      if (objects.length > 1) await attempt(withStep(best, index, { apply: objects.toSpliced(item, 1) }));
    }
  }
  for (const name of Object.keys(best.images ?? {})) {
    const { [name]: _, ...images } = best.images!;
    await attempt({ ...best, images });
  }
  for (let nodes = 1; typeof best.nodes === 'number' && nodes < best.nodes; nodes++) await attempt({ ...best, nodes });
  return best;
}

function withStep(scenario: Scenario, index: number, step: ScenarioStep): Scenario {
  return { ...scenario, steps: scenario.steps.with(index, step) };
}

/** Kind of a failure without names and numbers, which change as steps are removed. A missing object is a kind of its own. */
function kindOf(cause: string): string {
  const [head = ''] = cause.split(/, there are|\n/);
  return `${head.replace(/\d+/g, 'N')}${/ does not exist\b|, there are: none$/m.test(cause) ? ', absent' : ''}`;
}
