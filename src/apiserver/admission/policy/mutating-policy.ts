/**
 * MutatingAdmissionPolicy: applies the bound and matching policies one after the other, and again those with
 * reinvocationPolicy IfNeeded when the object changed after them. Upstream: admission/plugin/policy/mutating.
 */
import type {
  MutatingAdmissionPolicy as Policy,
  MutatingAdmissionPolicyBinding as Binding,
} from '../../../api/gen/admissionregistration-v1.ts';
import { MutatingAdmissionPolicies, MutatingAdmissionPolicyBindings } from '../../../api/gen/resources.ts';
import { type Activation, evaluateWithDecisions } from '../../../api/cel/compile.ts';
import { Meter, PER_CALL_LIMIT } from '../../../api/cel/meter.ts';
import { RuntimeError } from '../../../api/cel/texts.ts';
import { DecodeError } from '../../../api/codec/typed.ts';
import type { JsonObject } from '../../../api/codec/own-property.ts';
import { equal } from '../../../api/patch/json-patch.ts';
import { PatchError } from '../../../api/patch/patch-error.ts';
import { forbidden, StatusError } from '../../../api/status-error.ts';
import { evaluateConditionSteps, type MatchConditionsResult } from '../../admission-matching/match-conditions.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { reviewObjects, type ReviewObjects } from '../../admission-matching/review-objects.ts';
import { isAdmissionConfiguration } from '../../admission-matching/rules-matcher.ts';
import { applyConfiguration, applyJsonPatch, MutationError } from './apply-mutation.ts';
import { type CompiledMutatingPolicy, type CompiledMutation, compileMutatingPolicy } from './compile-mutating.ts';
import { EvaluationPace } from '../../admission-matching/evaluation-pace.ts';
import { followPolicies, type PolicyHook } from './follow-policies.ts';
import { type Invocation, type PolicyDeps, PolicyRequest } from './policy-request.ts';
import { stepByStep } from '../../../base/steps.ts';
import { appendAll } from '../../../base/lists.ts';

const NAME = 'MutatingAdmissionPolicy';

type Hook = PolicyHook<Policy, Binding, CompiledMutatingPolicy>;

export function createMutatingAdmissionPolicy(deps: PolicyDeps): AdmissionPlugin {
  let hooks: (() => readonly Hook[]) | undefined;
  const kinds = { policies: MutatingAdmissionPolicies, bindings: MutatingAdmissionPolicyBindings };
  const current = (): readonly Hook[] => (hooks ??= followPolicies(deps.objects(), kinds, compileMutatingPolicy))();
  return {
    name: NAME,
    handles: (_operation, resource) => !isAdmissionConfiguration(resource),
    isIdle: () => current().length === 0,
    mutate: (attributes) => new Mutations(deps, attributes).run(current()),
  };
}

/** What the first pass remembers for the second. */
interface Memory {
  /** Invocations with reinvocationPolicy IfNeeded of the first pass. */
  readonly made: Set<string>;
  /** Policies to apply again, because the object changed after them. */
  readonly again: Set<string>;
  /** The draft after the last policy. */
  after: unknown;
}

interface Failure {
  readonly policy: Policy;
  readonly binding: Binding | undefined;
  readonly message: string;
  readonly reason?: string;
}

/** The cost of showing, changing and decoding an object of usual size. */
const COST_OF_MUTATION = 2_000;

/** One pass of one request. */
class Mutations {
  readonly #request: PolicyRequest;
  readonly #memory: Memory;
  readonly #failures: Failure[] = [];
  /** Shared by all evaluations. */
  readonly #pace = new EvaluationPace();

  constructor(deps: PolicyDeps, attributes: AdmissionAttributes) {
    this.#request = new PolicyRequest(deps, attributes);
    const { memory } = attributes.reinvocation;
    this.#memory = (memory.get(NAME) as Memory | undefined) ?? { made: new Set(), again: new Set(), after: undefined };
    memory.set(NAME, this.#memory);
  }

  async run(hooks: readonly Hook[]): Promise<void> {
    const { object, reinvocation } = this.#request.attributes;
    if (reinvocation.round === 1 && !equal(this.#memory.after, object)) this.#askAgain();
    // Which policies match is settled before the first of them changes anything.
    const due: { readonly hook: Hook; readonly invocation: Invocation<Binding> }[] = [];
    for (const hook of hooks) {
      const invocations = await this.#request.invocations(hook, (message, binding) =>
        this.#failures.push({
          policy: hook.policy,
          binding,
          message: `failed to configure ${binding === undefined ? 'policy' : 'binding'}: ${message}`,
        }),
      );
      appendAll(
        due,
        invocations.map((invocation) => ({ hook, invocation })),
      );
    }
    const { context } = this.#request.attributes;
    for (const { hook, invocation } of due) {
      this.#pace.invoke();
      if (this.#pace.endsStep()) await context.nextStep?.();
      await this.#invoke(hook, invocation);
    }
    this.#memory.after = object === undefined ? undefined : structuredClone(object);
    const failures = this.#failures.filter(({ policy }) => policy.spec?.failurePolicy !== 'Ignore');
    if (failures.length > 0) throw this.#refusal(failures);
  }

  #askAgain(): void {
    for (const key of this.#memory.made) this.#memory.again.add(key);
    this.#memory.made.clear();
  }

  async #invoke({ policy, compiled }: Hook, invocation: Invocation<Binding>): Promise<void> {
    const { reinvocation, subresource, object } = this.#request.attributes;
    const { binding, matched } = invocation;
    const source = { policy, binding };
    const met = await this.#conditions(compiled(), invocation);
    if (met.error !== undefined) {
      this.#failures.push({ ...source, message: met.error, reason: 'Invalid' });
      return;
    }
    if (!met.matches) return;
    const key = JSON.stringify([
      policy.metadata.name,
      binding.metadata.name,
      invocation.param?.metadata.namespace,
      invocation.param?.metadata.name,
    ]);
    if (reinvocation.round === 1 && !this.#memory.again.has(key)) return;
    if (object !== undefined) {
      const view = reviewObjects(matched.requested, matched.matched, subresource);
      let changed = false;
      for (const mutation of compiled().mutations) {
        const outcome = await this.#mutate(mutation, { compiled: compiled(), invocation, view });
        if (typeof outcome === 'string') this.#failures.push({ ...source, message: outcome, reason: 'Invalid' });
        else changed ||= outcome;
      }
      if (changed) {
        this.#askAgain();
        reinvocation.wanted = true;
      }
    }
    if (policy.spec?.reinvocationPolicy === 'IfNeeded') this.#memory.made.add(key);
  }

  async #conditions(compiled: CompiledMutatingPolicy, invocation: Invocation<Binding>): Promise<MatchConditionsResult> {
    if (compiled.conditions.length === 0) return { matches: true };
    const values = await this.#request.values(invocation);
    return await evaluateWithDecisions(this.#request.decisions, () =>
      stepByStep(
        evaluateConditionSteps(compiled.conditions, { ...values, ...this.#request.authorizer() }, 'Fail', this.#pace),
        () => this.#request.attributes.context.nextStep?.(),
      ),
    );
  }

  /** Whether the object changed, or the error. */
  async #mutate(
    { kind, program }: CompiledMutation,
    {
      compiled,
      invocation,
      view,
    }: { compiled: CompiledMutatingPolicy; invocation: Invocation<Binding>; view: ReviewObjects },
  ): Promise<boolean | string> {
    if (typeof program === 'string') return program;
    const { context } = this.#request.attributes;
    const values = await this.#request.values(invocation);
    const meter = new Meter(PER_CALL_LIMIT);
    try {
      const made = await evaluateWithDecisions(this.#request.decisions, () => {
        const full: Activation = { ...values, ...this.#request.authorizer() };
        return program.run({ ...full, variables: compiled.variables.bind(full) }, meter);
      });
      if (context.isLarge === true) await context.nextStep?.();
      return await this.#put(kind, made, view);
    } catch (error) {
      if (error instanceof RuntimeError)
        return `expression '${program.expression}' resulted in error: ${error.message}`;
      if (error instanceof MutationError || error instanceof PatchError || error instanceof DecodeError)
        return error.message;
      throw error;
    } finally {
      this.#pace.spend(meter.spent + COST_OF_MUTATION);
    }
  }

  async #put(kind: CompiledMutation['kind'], made: unknown, view: ReviewObjects): Promise<boolean> {
    const { object } = this.#request.attributes;
    const before: JsonObject = await view.show(object!);
    const patched = kind === 'JSONPatch' ? applyJsonPatch(before, made) : applyConfiguration(before, made, view.schema);
    const after = view.decode(patched);
    if (equal(before, after)) return false;
    await view.store(after, object!);
    this.#request.objectChanged();
    return true;
  }

  #refusal(failures: readonly Failure[]): StatusError {
    const texts = failures.map(({ policy, binding, message }) =>
      binding === undefined
        ? `policy ${JSON.stringify(policy.metadata.name)} denied request: ${message}`
        : `policy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${message}`,
    );
    const { resource, name, object } = this.#request.attributes;
    const error = forbidden(
      resource,
      name || object?.metadata?.name || object?.metadata?.generateName || '',
      texts[0]!,
    );
    const reason = failures[0]!.reason ?? 'Forbidden';
    const causes = texts.map((message) => ({ message }));
    const refused = new StatusError({
      ...error.status,
      message: texts[0]!,
      reason,
      details: { ...error.status.details, causes },
    });
    const { name: fault } = failures[0]!.policy.metadata;
    return recordFault(refused, MutatingAdmissionPolicies, { name: fault });
  }
}
