/** Evaluates a policy with one parameter for one request. Upstream: validating/validator.go. */
import type { Steps } from '../../../base/steps.ts';
import type { Activation } from '../../../api/cel/compile.ts';
import { Meter, PER_CALL_LIMIT, RUNTIME_COST_BUDGET } from '../../../api/cel/meter.ts';
import { RuntimeError } from '../../../api/cel/texts.ts';
import { evaluateConditionSteps } from '../../admission-matching/match-conditions.ts';
import type { Compiled, CompiledPolicy } from './compile-validating.ts';
import { EvaluationPace } from '../../admission-matching/evaluation-pace.ts';

/** A failed expression. */
export interface Refusal {
  /** The index of the validation; 0 for other expressions. */
  readonly index: number;
  readonly message: string;
  /** Status reason; default Invalid. */
  readonly reason?: string;
}

/** The result of a policy's evaluation. */
export interface Verdict {
  readonly refusals: readonly Refusal[];
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
  /** Errors of audit annotations, which refuse the request whatever the binding's actions are. */
  readonly annotationErrors: readonly string[];
}

/** The variables of expressions: all for validations, all but the authorizer for messages. */
export interface PolicyActivation {
  readonly full: Activation;
  readonly messages: Activation;
}

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';
const MAX_MESSAGE_BYTES = 5 * 1024;
const NOTHING: Verdict = { refusals: [], annotations: [], annotationErrors: [] };

/**
 * Evaluates the policy. `failurePolicy` Ignore turns errors into admission. A step ends after an expensive
 * validation.
 */
export function* evaluatePolicy(
  policy: CompiledPolicy,
  activation: PolicyActivation,
  failurePolicy: string | undefined,
  pace = new EvaluationPace(),
): Steps<Verdict> {
  const ignores = failurePolicy === 'Ignore';
  const met = yield* evaluateConditionSteps(policy.conditions, activation.full, 'Fail', pace);
  if (met.error !== undefined) return ignores ? NOTHING : refused(met.error);
  if (!met.matches) return NOTHING;
  const budget = new Budget(pace);
  const refusals: Refusal[] = [];
  for (const [index, { validation, program, message }] of policy.validations.entries()) {
    if (pace.endsStep()) yield;
    const answer = budget.run(program, activation.full);
    if (answer.outOfBudget) return ignores ? NOTHING : refused(OUT_OF_BUDGET);
    if (answer.error !== undefined) {
      if (!ignores) refusals.push({ index, message: answer.error });
    } else if (answer.value !== true) {
      const reason = validation.reason === undefined ? {} : { reason: validation.reason };
      const ownMessage = (validation.message ?? '').trim();
      const made = message === undefined ? '' : messageText(budget.run(message, activation.messages).value);
      const text = made || ownMessage || `failed expression: ${validation.expression.trim()}`;
      refusals.push({ index, message: text, ...reason });
    }
  }
  return { refusals, ...annotate(policy, { activation: activation.full, ignores, pace }) };
}

function refused(message: string): Verdict {
  return { ...NOTHING, refusals: [{ index: 0, message }] };
}

/** The message if it can be shown; otherwise ''. */
function messageText(value: unknown): string {
  if (typeof value !== 'string') return '';
  const text = value.trim();
  return text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE_BYTES ? '' : text;
}

function annotate(
  policy: CompiledPolicy,
  { activation, ignores, pace }: { activation: Activation; ignores: boolean; pace: EvaluationPace },
): Pick<Verdict, 'annotations' | 'annotationErrors'> {
  const budget = new Budget(pace);
  const annotations: { key: string; value: string }[] = [];
  const annotationErrors: string[] = [];
  for (const { annotation, program } of policy.auditAnnotations) {
    const answer = budget.run(program, activation);
    if (answer.error !== undefined) {
      if (!ignores) annotationErrors.push(answer.error);
    } else if (typeof answer.value === 'string') {
      const value = answer.value.trim();
      if (value !== '') annotations.push({ key: annotation.key, value });
    } else if (answer.value !== null) {
      annotationErrors.push(
        `valueExpression '${annotation.valueExpression}' resulted in unsupported return type. Return type must be either string or null.`,
      );
    }
  }
  return { annotations, annotationErrors };
}

interface Answer {
  readonly value?: unknown;
  readonly error?: string;
  readonly outOfBudget?: boolean;
}

/** The remaining cost budget shared by the expressions of one policy. */
class Budget {
  #left = RUNTIME_COST_BUDGET;
  readonly #pace: EvaluationPace;

  constructor(pace: EvaluationPace) {
    this.#pace = pace;
  }

  run(program: Compiled, activation: Activation): Answer {
    if (typeof program === 'string') return { error: program };
    const meter = new Meter(Math.min(PER_CALL_LIMIT, this.#left));
    try {
      return { value: program.run(activation, meter) };
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      if (error.costExceeded && this.#left <= PER_CALL_LIMIT) return { error: OUT_OF_BUDGET, outOfBudget: true };
      return { error: `expression '${program.expression}' resulted in error: ${error.message}` };
    } finally {
      this.#pace.spend(meter.spent);
      this.#left -= Math.min(meter.spent, this.#left);
    }
  }
}
