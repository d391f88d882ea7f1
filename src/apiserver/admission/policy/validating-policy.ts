/**
 * ValidatingAdmissionPolicy: validates requests by the policies that are bound and match. All bindings of all policies are
 * evaluated; the first refusal is the answer. Upstream: admission/plugin/policy/validating.
 */
import type {
  ValidatingAdmissionPolicy as Policy,
  ValidatingAdmissionPolicyBinding as Binding,
} from '../../../api/gen/admissionregistration-v1.ts';
import { ValidatingAdmissionPolicies, ValidatingAdmissionPolicyBindings } from '../../../api/gen/resources.ts';
import { stepByStep } from '../../../base/steps.ts';
import { evaluateWithDecisions } from '../../../api/cel/compile.ts';
import { forbidden, StatusError } from '../../../api/status-error.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { isAdmissionConfiguration } from '../../admission-matching/rules-matcher.ts';
import { type CompiledPolicy, compileValidatingPolicy } from './compile-validating.ts';
import { evaluatePolicy, type PolicyActivation, type Refusal, type Verdict } from './evaluate-validating.ts';
import { EvaluationPace } from '../../admission-matching/evaluation-pace.ts';
import { followPolicies, type PolicyHook } from './follow-policies.ts';
import { type Invocation, type PolicyDeps, PolicyRequest } from './policy-request.ts';

const MAX_ANNOTATION_LENGTH = 10 * 1024;

type Hook = PolicyHook<Policy, Binding, CompiledPolicy>;

export function createValidatingAdmissionPolicy(deps: PolicyDeps): AdmissionPlugin {
  let hooks: (() => readonly Hook[]) | undefined;
  const kinds = { policies: ValidatingAdmissionPolicies, bindings: ValidatingAdmissionPolicyBindings };
  const current = (): readonly Hook[] => (hooks ??= followPolicies(deps.objects(), kinds, compileValidatingPolicy))();
  return {
    name: 'ValidatingAdmissionPolicy',
    handles: (_operation, resource) => !isAdmissionConfiguration(resource),
    isIdle: () => current().length === 0,
    validate: (attributes) => new Dispatch(deps, attributes).run(current()),
  };
}

interface Denial extends Omit<Refusal, 'index'> {
  readonly policy: Policy;
  readonly binding?: Binding;
}

/** Evaluates all policies for one request. Upstream: dispatcher.Dispatch. */
class Dispatch {
  readonly #request: PolicyRequest;
  readonly #denials: Denial[] = [];
  /** Shared by all evaluations. */
  readonly #pace = new EvaluationPace();

  constructor(deps: PolicyDeps, attributes: AdmissionAttributes) {
    this.#request = new PolicyRequest(deps, attributes);
  }

  get #attributes(): AdmissionAttributes {
    return this.#request.attributes;
  }

  async run(hooks: readonly Hook[]): Promise<void> {
    for (const hook of hooks) await this.#validate(hook);
    const [first] = this.#denials;
    if (first !== undefined) throw this.#refusal(first);
  }

  async #validate(hook: Hook): Promise<void> {
    const { policy } = hook;
    const invocations = await this.#request.invocations(hook, (message, binding) => {
      if (policy.spec?.failurePolicy === 'Ignore') return;
      const source = binding === undefined ? { policy } : { policy, binding };
      this.#denials.push({
        ...source,
        message: `failed to configure ${binding === undefined ? 'policy' : 'binding'}: ${message}`,
      });
    });
    const annotations = new Map<string, Set<string>>();
    for (const invocation of invocations) {
      this.#pace.invoke();
      if (this.#pace.endsStep()) await this.#attributes.context.nextStep?.();
      const verdict = await this.#evaluate(hook, invocation);
      this.#takeActions(verdict, { policy, binding: invocation.binding });
      for (const { key, value } of verdict.annotations)
        annotations.set(key, (annotations.get(key) ?? new Set()).add(value));
    }
    for (const [key, texts] of annotations) {
      const text = [...texts].join(', ').slice(0, MAX_ANNOTATION_LENGTH);
      this.#attributes.context.addAuditAnnotation(`${policy.metadata.name}/${key}`, text);
    }
  }

  async #evaluate(hook: Hook, invocation: Invocation<Binding>): Promise<Verdict> {
    const compiled = hook.compiled();
    const values = await this.#request.values(invocation);
    return await evaluateWithDecisions(this.#request.decisions, () => {
      const full = { ...values, ...this.#request.authorizer() };
      const variables = compiled.variables.bind(full);
      const activation: PolicyActivation = { full: { ...full, variables }, messages: { ...values, variables } };
      const steps = evaluatePolicy(compiled, activation, hook.policy.spec?.failurePolicy, this.#pace);
      return stepByStep(steps, () => this.#attributes.context.nextStep?.());
    });
  }

  /** Denies, audits or warns, by the binding's actions. */
  #takeActions({ refusals, annotationErrors }: Verdict, source: { policy: Policy; binding: Binding }): void {
    const actions = source.binding.spec.validationActions ?? [];
    for (const { index, ...refusal } of refusals) {
      if (actions.includes('Deny')) this.#denials.push({ ...source, ...refusal });
      if (actions.includes('Audit')) this.#audit(source.binding, index, refusal.message);
      if (actions.includes('Warn')) this.#warn(source, refusal.message);
    }
    for (const message of annotationErrors) this.#denials.push({ ...source, message });
  }

  #warn({ policy, binding }: { policy: Policy; binding: Binding }, message: string): void {
    const source = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`;
    this.#attributes.context.addWarning(`Validation failed for ${source}: ${message}`);
  }

  #audit({ metadata, spec }: Binding, expressionIndex: number, message: string): void {
    const failure = {
      message,
      policy: spec.policyName,
      binding: metadata.name,
      expressionIndex,
      validationActions: spec.validationActions,
    };
    this.#attributes.context.addAuditAnnotation(
      'validation.policy.admission.k8s.io/validation_failure',
      JSON.stringify([failure]),
    );
  }

  #refusal({ policy, binding, message, reason = 'Invalid' }: Denial): StatusError {
    const by = binding === undefined ? '' : ` with binding '${binding.metadata.name}'`;
    const text = `ValidatingAdmissionPolicy '${policy.metadata.name}'${by} denied request: ${message}`;
    const { resource, name, object } = this.#attributes;
    const error = forbidden(resource, name || object?.metadata?.name || object?.metadata?.generateName || '', text);
    const refused = new StatusError({
      ...error.status,
      reason,
      code: CODES[reason] ?? 422,
      details: { ...error.status.details, causes: [{ message: text }] },
    });
    return recordFault(refused, ValidatingAdmissionPolicies, policy.metadata);
  }
}

const CODES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};
