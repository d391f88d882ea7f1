/**
 * Whether a webhook is to be called for a request, and for which version of the resource. Upstream:
 * admission/plugin/webhook/generic ShouldCallHook with the namespace and object predicates.
 */
import { Namespaces } from '../../../api/gen/resources.ts';
import type { LabelMatcher, Labels } from '../../../api/label-selector.ts';
import { notFound } from '../../../api/status-error.ts';
import type { GenericStore } from '../../generic-registry/generic-store.ts';
import type { ResourceRegistry } from '../../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { equivalentsOf } from './equivalent-resources.ts';
import { ruleMatches, type RuleSubject } from './rule-matcher.ts';
import type { ConfiguredWebhook } from './webhook-configurations.ts';

/** What deciding needs. */
export interface InvocationDeps {
  readonly registry: ResourceRegistry;
  readonly objects: () => ObjectStore;
}

/** A call that is due: the webhook, and the version of the resource it is sent. */
export interface Invocation {
  readonly webhook: ConfiguredWebhook;
  /** The request's resource. */
  readonly own: GenericStore;
  /** The version a rule names. */
  readonly as: GenericStore;
}

/** The namespace a request is about; for a namespace, itself. */
export function namespaceOf({ resource, namespace, name, object }: AdmissionAttributes): string {
  if (namespace !== '' || resource.group !== '' || resource.resource !== 'namespaces') return namespace;
  return name === '' ? (object?.metadata.name ?? '') : name;
}

/** Whether to call, match conditions left aside. Rejects with 404 when the namespace a selector asks about is gone. */
export async function invocationOf(
  webhook: ConfiguredWebhook,
  attributes: AdmissionAttributes,
  deps: InvocationDeps,
): Promise<Invocation | undefined> {
  if (!objectSelected(webhook.objects, attributes)) return undefined;
  const own = deps.registry.known(attributes.resource);
  if (own === undefined) return undefined;
  const as = matchingVersion(webhook, attributes, { own, registry: deps.registry });
  if (as === undefined) return undefined;
  if (!(await namespaceSelected(webhook.namespaces, attributes, deps))) return undefined;
  return { webhook, own, as };
}

function matchingVersion(
  { hook }: ConfiguredWebhook,
  attributes: AdmissionAttributes,
  { own, registry }: { own: GenericStore; registry: ResourceRegistry },
): GenericStore | undefined {
  const { operation, subresource } = attributes;
  const namespace = namespaceOf(attributes);
  const subjectOf = ({ info }: GenericStore): RuleSubject => ({
    operation,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource,
    namespace,
  });
  const rules = hook.rules ?? [];
  if (rules.some((rule) => ruleMatches(rule, subjectOf(own)))) return own;
  if (hook.matchPolicy === 'Exact') return undefined;
  const [, ...others] = equivalentsOf(registry, own);
  for (const rule of rules) {
    const found = others.find((other) => ruleMatches(rule, subjectOf(other)));
    if (found !== undefined) return found;
  }
  return undefined;
}

function objectSelected(matcher: LabelMatcher, { object, oldObject, operation }: AdmissionAttributes): boolean {
  if (matcher.isEverything) return true;
  // A connect has options for an object, and those have no labels.
  if (operation === 'CONNECT') return false;
  return [object, oldObject].some((one) => one !== undefined && matcher.matches(one.metadata?.labels));
}

async function namespaceSelected(
  matcher: LabelMatcher,
  attributes: AdmissionAttributes,
  { objects }: InvocationDeps,
): Promise<boolean> {
  if (matcher.isEverything) return true;
  const { resource, operation, subresource, object } = attributes;
  const isNamespace = resource.group === '' && resource.resource === 'namespaces';
  const name = namespaceOf(attributes);
  if (name === '' && !isNamespace) return true;
  if (isNamespace && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'))
    return matcher.matches(object?.metadata.labels);
  return matcher.matches(await namespaceLabels(objects(), name));
}

async function namespaceLabels(objects: ObjectStore, name: string): Promise<Labels> {
  const found = objects.get(Namespaces, '', name) ?? (await objects.getFresh(Namespaces, '', name));
  if (found === undefined) throw notFound(Namespaces, name);
  return found.metadata.labels;
}
