/**
 * Match conditions of webhooks and policies: expressions that must all be true for a request to match. A false one
 * decides, whatever the others yield; otherwise failurePolicy decides about errors. Upstream:
 * apiserver/pkg/admission/plugin/webhook/matchconditions.
 */
import type { MatchCondition } from '../../api/gen/admissionregistration-v1.ts';
import { allSteps, stepByStep, type Steps } from '../../base/steps.ts';
import { type Activation, compile, evaluateWithDecisions, type Program } from '../../api/cel/compile.ts';
import { admissionEnvironment } from '../../api/cel/admission-types.ts';
import type { CelEnvironment } from '../../api/cel/environment.ts';
import { type Authorize, Decisions } from '../../api/cel/libraries/authorizer.ts';
import { MATCH_CONDITIONS_COST_BUDGET, Meter, PER_CALL_LIMIT } from '../../api/cel/meter.ts';
import { RuntimeError } from '../../api/cel/texts.ts';
import type { AdmissionAttributes } from '../admission/contract.ts';
import type { MatchedResource } from './resource-matcher.ts';
import { authorizerValues, requestValues } from './admission-values.ts';
import { EvaluationPace } from './evaluation-pace.ts';

/** The result of a request's match conditions. */
export interface MatchConditionsResult {
  readonly matches: boolean;
  /** Set when failurePolicy Fail turns an evaluation error into a refusal; `matches` is false then. */
  readonly error?: string;
  /** The condition that was false, for metrics and audit. */
  readonly failedCondition?: string;
}

/** Compiled conditions of one webhook or policy. */
export interface MatchConditions {
  /** Evaluates a request that matched as `matched`. Rejects with a StatusError when its objects cannot be converted. */
  evaluate(
    attributes: AdmissionAttributes,
    matched: MatchedResource,
    authorize: Authorize,
  ): Promise<MatchConditionsResult>;
}

/** A condition with its program, or the error why it has none. */
export interface CompiledCondition {
  readonly name: string;
  readonly program: Program | string;
}

/** Compiles conditions; one that cannot be compiled (stored by an older version) fails at every evaluation. */
export function compileConditions(
  conditions: readonly MatchCondition[],
  environment: CelEnvironment,
): CompiledCondition[] {
  return allSteps(compileConditionSteps(conditions, environment));
}

/** As `compileConditions`, with a step for each condition. */
function* compileConditionSteps(
  conditions: readonly MatchCondition[],
  environment: CelEnvironment,
): Steps<CompiledCondition[]> {
  const compiled: CompiledCondition[] = [];
  for (const { name, expression } of conditions) {
    try {
      compiled.push({ name, program: compile(expression, { environment, returnTypes: ['bool'] }) });
    } catch (error) {
      compiled.push({ name, program: (error as Error).message });
    }
    yield;
  }
  return compiled;
}

/**
 * Makes the match conditions of a webhook. `failurePolicy` as the webhook has it (default Fail). Without conditions
 * everything matches.
 */
export function* matchConditionSteps(
  conditions: readonly MatchCondition[] | undefined,
  failurePolicy: string | undefined,
): Steps<MatchConditions> {
  const environment = admissionEnvironment({ hasParams: false, hasAuthorizer: true });
  const compiled = yield* compileConditionSteps(conditions ?? [], environment);
  return {
    async evaluate(attributes, matched, authorize) {
      if (compiled.length === 0) return { matches: true };
      const decisions = new Decisions(authorize);
      const activation = {
        ...(await requestValues(attributes, matched)),
        namespaceObject: null,
        ...authorizerValues(attributes, decisions),
      };
      return await evaluateWithDecisions(decisions, () =>
        stepByStep(evaluateConditionSteps(compiled, activation, failurePolicy), () => attributes.context.nextStep?.()),
      );
    },
  };
}

/** As `evaluateConditionSteps`, in one turn. */
export function evaluateConditions(
  conditions: readonly CompiledCondition[],
  activation: Activation,
  failurePolicy: string | undefined,
): MatchConditionsResult {
  return allSteps(evaluateConditionSteps(conditions, activation, failurePolicy));
}

/** Evaluates compiled conditions, within the budget all of them share. A step ends with a condition that took long. */
export function* evaluateConditionSteps(
  conditions: readonly CompiledCondition[],
  activation: Activation,
  failurePolicy: string | undefined,
  pace = new EvaluationPace(),
): Steps<MatchConditionsResult> {
  let budget = MATCH_CONDITIONS_COST_BUDGET;
  const errors: string[] = [];
  for (const { name, program } of conditions) {
    if (pace.endsStep()) yield;
    const meter = new Meter(Math.min(PER_CALL_LIMIT, budget));
    const answer = evaluate(program, activation, meter);
    pace.spend(meter.spent);
    budget -= Math.min(meter.spent, budget);
    if (answer === false) return { matches: false, failedCondition: name };
    if (typeof answer === 'string') errors.push(answer);
    if (budget <= 0) {
      errors.push('validation failed due to running out of cost budget, no further validation rules will be run');
      break;
    }
  }
  if (errors.length === 0) return { matches: true };
  if (failurePolicy === 'Ignore') return { matches: false };
  return { matches: false, error: errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]` };
}

/** True, false, or the error's text. */
function evaluate(program: Program | string, activation: Activation, meter: Meter): boolean | string {
  if (typeof program === 'string') return program;
  try {
    return program.run(activation, meter) === true;
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error;
    return `expression '${program.expression}' resulted in error: ${error.message}`;
  }
}
