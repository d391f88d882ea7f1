/**
 * ValidatingAdmissionPolicy: judges requests by the policies that are bound and match. All bindings of all policies are
 * evaluated; the first refusal is told. Upstream: admission/plugin/policy/validating.
 */
import type {
  ValidatingAdmissionPolicy as Policy,
  ValidatingAdmissionPolicyBinding as Binding,
} from '../../../api/gen/admissionregistration-v1.ts';
import {
  Namespaces,
  ValidatingAdmissionPolicies,
  ValidatingAdmissionPolicyBindings,
} from '../../../api/gen/resources.ts';
import { evaluateWithDecisions } from '../../../api/cel/compile.ts';
import { Decisions } from '../../../api/cel/libraries/authorizer.ts';
import { dynValue } from '../../../api/cel/values.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { forbidden, StatusError } from '../../../api/status-error.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { authorizerValue, namespaceValue, requestValues } from '../cel/admission-values.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { type MatchDeps, type MatchedResource, matchRequest } from '../matching/resource-matcher.ts';
import { isAdmissionConfiguration } from '../matching/rules-matcher.ts';
import { isNamespace } from '../matching/selectors.ts';
import { type CompiledPolicy, compileValidatingPolicy } from './compile-validating.ts';
import { evaluatePolicy, type PolicyActivation, type Refusal, type Verdict } from './evaluate-validating.ts';
import { followPolicies, type PolicyHook } from './follow-policies.ts';
import { collectParams, ConfigurationError, paramResource } from './params.ts';

/** What policies need of the server. */
export interface PolicyDeps extends MatchDeps {
  readonly authorizer: Authorizer;
}

type Hook = PolicyHook<Policy, Binding, CompiledPolicy>;

/** Makes the plugin. */
export function createValidatingAdmissionPolicy(deps: PolicyDeps): AdmissionPlugin {
  let hooks: (() => readonly Hook[]) | undefined;
  const kinds = { policies: ValidatingAdmissionPolicies, bindings: ValidatingAdmissionPolicyBindings };
  const current = (): readonly Hook[] => (hooks ??= followPolicies(deps.objects(), kinds, compileValidatingPolicy))();
  return {
    name: 'ValidatingAdmissionPolicy',
    handles: (_operation, resource) => current().length > 0 && !isAdmissionConfiguration(resource),
    validate: (attributes) => new Judgement(deps, attributes).run(current()),
  };
}

interface Denial extends Omit<Refusal, 'index'> {
  readonly policy: Policy;
  readonly binding?: Binding;
}

/** One request before all policies. */
class Judgement {
  readonly #deps: PolicyDeps;
  readonly #attributes: AdmissionAttributes;
  readonly #decisions: Decisions;
  readonly #denials: Denial[] = [];
  readonly #values = new Map<unknown, Record<string, unknown>>();

  constructor(deps: PolicyDeps, attributes: AdmissionAttributes) {
    this.#deps = deps;
    this.#attributes = attributes;
    this.#decisions = new Decisions((asked) => deps.authorizer.authorize(asked));
  }

  async run(hooks: readonly Hook[]): Promise<void> {
    for (const hook of hooks) await this.#judge(hook);
    const [first] = this.#denials;
    if (first !== undefined) throw this.#refusal(first);
  }

  async #judge(hook: Hook): Promise<void> {
    const { policy, bindings } = hook;
    const matched = await this.#configured({ policy }, async () => {
      const found = await matchRequest(policy.spec?.matchConstraints, this.#attributes, this.#deps);
      if (found !== undefined && policy.spec?.paramKind !== undefined)
        paramResource(policy.spec.paramKind, this.#deps.registry);
      return found;
    });
    if (matched === undefined) return;
    const annotations = new Map<string, Set<string>>();
    for (const binding of bindings) {
      const params = await this.#configured({ policy, binding }, () => this.#params(policy, binding));
      for (const param of params ?? []) {
        const verdict = await this.#evaluate(hook, matched, param);
        this.#heed(verdict, { policy, binding });
        for (const { key, value } of verdict.annotations)
          annotations.set(key, (annotations.get(key) ?? new Set()).add(value));
      }
    }
    for (const [key, texts] of annotations)
      this.#attributes.context.addAuditAnnotation(
        `${policy.metadata.name}/${key}`,
        [...texts].join(', ').slice(0, 10 * 1024),
      );
  }

  /** Parameters of a binding; undefined when the binding does not match. */
  async #params(policy: Policy, binding: Binding): Promise<readonly (KubernetesObject | undefined)[] | undefined> {
    const matches = await matchRequest(binding.spec.matchResources, this.#attributes, this.#deps);
    if (matches === undefined) return undefined;
    const { registry, objects } = this.#deps;
    const lookup = { kind: policy.spec?.paramKind, ref: binding.spec.paramRef, namespace: this.#attributes.namespace };
    return await collectParams(lookup, { registry, objects: objects() });
  }

  /** Runs a step whose failure is one of configuration: it refuses, unless the policy ignores failures. */
  async #configured<T>(of: { policy: Policy; binding?: Binding }, step: () => Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ConfigurationError) && !(error instanceof StatusError)) throw error;
      const what = of.binding === undefined ? 'policy' : 'binding';
      if (of.policy.spec?.failurePolicy !== 'Ignore')
        this.#denials.push({ ...of, message: `failed to configure ${what}: ${error.message}` });
      return undefined;
    }
  }

  async #evaluate(hook: Hook, matched: MatchedResource, param: KubernetesObject | undefined): Promise<Verdict> {
    const compiled = hook.compiled();
    const common = { ...this.#requestValues(matched), params: param === undefined ? null : dynValue(param) };
    return await evaluateWithDecisions(this.#decisions, () => {
      const authorizer = authorizerValue(this.#attributes, this.#decisions);
      const full = { ...common, authorizer };
      const variables = compiled.variables.bind(full);
      const activation: PolicyActivation = { full: { ...full, variables }, messages: { ...common, variables } };
      return evaluatePolicy(compiled, activation, hook.policy.spec?.failurePolicy);
    });
  }

  #requestValues(matched: MatchedResource): Record<string, unknown> {
    const known = this.#values.get(matched.as);
    if (known !== undefined) return known;
    const { resource, namespace } = this.#attributes;
    const found =
      namespace === '' || isNamespace(resource) ? undefined : this.#deps.objects().get(Namespaces, '', namespace);
    const values = { ...requestValues(this.#attributes, matched), namespaceObject: namespaceValue(found) };
    this.#values.set(matched.as, values);
    return values;
  }

  #heed({ refusals, annotationErrors }: Verdict, of: { policy: Policy; binding: Binding }): void {
    const actions = of.binding.spec.validationActions ?? [];
    for (const { index, ...refusal } of refusals) {
      if (actions.includes('Deny')) this.#denials.push({ ...of, ...refusal });
      if (actions.includes('Audit')) this.#audit(of.binding, index, refusal.message);
      if (actions.includes('Warn')) this.#warn(of, refusal.message);
    }
    for (const message of annotationErrors) this.#denials.push({ ...of, message });
  }

  #warn({ policy, binding }: { policy: Policy; binding: Binding }, message: string): void {
    const of = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`;
    this.#attributes.context.addWarning(`Validation failed for ${of}: ${message}`);
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
    return new StatusError({
      ...error.status,
      reason,
      code: CODES[reason] ?? 422,
      details: { ...error.status.details, causes: [{ message: text }] },
    });
  }
}

const CODES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};
