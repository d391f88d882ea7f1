/**
 * Whether a webhook is to be called for a request, and for which version of the resource. Upstream:
 * admission/plugin/webhook/generic ShouldCallHook with the namespace and object predicates.
 */
import type { GenericStore } from '../../generic-registry/generic-store.ts';
import type { ResourceRegistry } from '../../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { matchingVersion } from '../../admission-matching/resource-matcher.ts';
import { namespaceSelected, objectSelected } from '../../admission-matching/selectors.ts';
import type { ConfiguredWebhook } from './webhook-configurations.ts';

export interface InvocationDeps {
  readonly registry: ResourceRegistry;
  readonly objects: () => ObjectStore;
}

/** A due call: the webhook, and the version of the resource to send. */
export interface Invocation {
  readonly webhook: ConfiguredWebhook;
  /** The request's resource. */
  readonly requested: GenericStore;
  /** The version a rule names. */
  readonly matched: GenericStore;
}

/**
 * The call to make, if the rules and selectors match; match conditions are evaluated later. Rejects with 404 when the
 * namespace that a selector needs does not exist.
 */
export async function invocationOf(
  webhook: ConfiguredWebhook,
  attributes: AdmissionAttributes,
  deps: InvocationDeps,
): Promise<Invocation | undefined> {
  if (!objectSelected(webhook.objects, attributes)) return undefined;
  const requested = deps.registry.known(attributes.resource);
  if (requested === undefined) return undefined;
  const { rules, matchPolicy } = webhook.hook;
  const matched = matchingVersion({ rules: rules ?? [], matchPolicy }, attributes, {
    requested,
    registry: deps.registry,
  });
  if (matched === undefined) return undefined;
  if (!(await namespaceSelected(webhook.namespaces, attributes, deps.objects()))) return undefined;
  return { webhook, requested, matched };
}
