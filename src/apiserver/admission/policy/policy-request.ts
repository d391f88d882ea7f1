/** One request as policies of both kinds see it: matching, parameters, values. Upstream: generic/policy_dispatcher.go. */
import type { MatchResources, ParamKind, ParamRef } from '../../../api/gen/admissionregistration-v1.ts';
import { Namespaces } from '../../../api/gen/resources.ts';
import type { Activation } from '../../../api/cel/compile.ts';
import { Decisions } from '../../../api/cel/libraries/authorizer.ts';
import { dynValue } from '../../../api/cel/values.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { StatusError } from '../../../api/status-error.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { authorizerValues, namespaceValue, requestValues } from '../../admission-matching/admission-values.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { type MatchDeps, type MatchedResource, matchRequest } from '../../admission-matching/resource-matcher.ts';
import { isNamespace } from '../../admission-matching/selectors.ts';
import { collectParams, ConfigurationError, paramResource } from './params.ts';

export interface PolicyDeps extends MatchDeps {
  readonly authorizer: Authorizer;
}

/** The fields that both kinds of policy have. */
export interface AnyPolicy extends KubernetesObject {
  spec?: { matchConstraints?: MatchResources; paramKind?: ParamKind; failurePolicy?: string };
}

/** The fields that both kinds of binding have. */
export interface AnyBinding extends KubernetesObject {
  spec?: { policyName?: string; matchResources?: MatchResources; paramRef?: ParamRef };
}

/** A policy that applies, with one of its bindings and one parameter. */
export interface Invocation<B> {
  readonly binding: B;
  readonly matched: MatchedResource;
  readonly param: KubernetesObject | undefined;
}

/** Called for misconfigured policies and bindings. */
export type OnConfigurationError<B> = (message: string, binding: B | undefined) => void;

export class PolicyRequest {
  readonly attributes: AdmissionAttributes;
  /** Answers of authorization checks, shared by all expressions. */
  readonly decisions: Decisions;
  readonly #deps: PolicyDeps;
  readonly #values = new Map<unknown, Activation>();

  constructor(deps: PolicyDeps, attributes: AdmissionAttributes) {
    this.#deps = deps;
    this.attributes = attributes;
    this.decisions = new Decisions((asked) => deps.authorizer.authorize(asked));
  }

  /** The invocations of a policy. Configuration errors are reported, and the misconfigured part is left out. */
  async invocations<P extends AnyPolicy, B extends AnyBinding>(
    { policy, bindings }: { readonly policy: P; readonly bindings: readonly B[] },
    onError: OnConfigurationError<B>,
  ): Promise<Invocation<B>[]> {
    const matched = await this.#guard(
      () => this.#match(policy),
      (message) => onError(message, undefined),
    );
    if (matched === undefined) return [];
    const invocations: Invocation<B>[] = [];
    for (const binding of bindings) {
      const params = await this.#guard(
        () => this.#params(policy, binding),
        (message) => onError(message, binding),
      );
      for (const param of params ?? []) invocations.push({ binding, matched, param });
    }
    return invocations;
  }

  async #match({ spec }: AnyPolicy): Promise<MatchedResource | undefined> {
    const matchedResource = await matchRequest(spec?.matchConstraints, this.attributes, this.#deps);
    if (matchedResource !== undefined && spec?.paramKind !== undefined)
      paramResource(spec.paramKind, this.#deps.registry);
    return matchedResource;
  }

  async #params(
    { spec }: AnyPolicy,
    binding: AnyBinding,
  ): Promise<readonly (KubernetesObject | undefined)[] | undefined> {
    const matches = await matchRequest(binding.spec?.matchResources, this.attributes, this.#deps);
    if (matches === undefined) return undefined;
    const { registry, objects } = this.#deps;
    const lookup = { kind: spec?.paramKind, ref: binding.spec?.paramRef, namespace: this.attributes.namespace };
    const pause = (): Promise<void> | undefined => this.attributes.context.nextStep?.();
    return await collectParams(lookup, { registry, objects: objects(), pause });
  }

  async #guard<T>(step: () => Promise<T>, onError: (message: string) => void): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof ConfigurationError) && !(error instanceof StatusError)) throw error;
      onError(error.message);
      return undefined;
    }
  }

  /** The values of all variables but `authorizer` and `variables`, from the current objects. */
  async values({ matched, param }: Pick<Invocation<unknown>, 'matched' | 'param'>): Promise<Activation> {
    const known = this.#values.get(matched.matched) ?? (await this.#makeValues(matched));
    this.#values.set(matched.matched, known);
    return { ...known, params: param === undefined ? null : dynValue(param) };
  }

  /** Call when a policy has changed the object. */
  objectChanged(): void {
    this.#values.clear();
  }

  async #makeValues(matched: MatchedResource): Promise<Activation> {
    const { resource, namespace } = this.attributes;
    const isFree = namespace === '' || isNamespace(resource);
    const namespaceObject = isFree ? undefined : this.#deps.objects().get(Namespaces, '', namespace);
    return { ...(await requestValues(this.attributes, matched)), namespaceObject: namespaceValue(namespaceObject) };
  }

  /** `authorizer` and `authorizer.requestResource`, created for each evaluation. */
  authorizer(): Activation {
    return authorizerValues(this.attributes, this.decisions);
  }
}
