/** Validation of the rules by which webhooks and policies match requests. Upstream: apis/admissionregistration/validation. */
import type { Field } from '../field-error.ts';
import type { MatchResources, NamedRuleWithOperations, RuleWithOperations } from '../gen/admissionregistration-v1.ts';
import { isPathSegmentName } from '../names.ts';
import { validateOptionalChoice } from './common.ts';
import { validateLabelSelector } from './selectors.ts';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const MUTATING_OPERATIONS = ['*', 'CONNECT', 'CREATE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];

/** The list must not be empty, and `*`, which matches all, must be its only item. */
function validateNames(names: readonly string[], what: string, field: Field): void {
  if (names.length === 0) field.required();
  if (names.length > 1 && names.includes('*'))
    field.invalid(names, `if '*' is present, must not specify other ${what}`);
}

/** No resource or sub-resource may be covered by another with a `*`. */
function validateResources(resources: readonly string[], field: Field): void {
  if (resources.length === 0) field.required();
  const [ofResource, everywhere] = [new Set<string>(), new Set<string>()];
  // As upstream, only the last resource without a sub-resource is compared with `*`.
  let lastAlone = '*';
  for (const [index, name] of resources.entries()) {
    const place = field.item(index);
    if (name === '') {
      place.required();
      continue;
    }
    const slash = name.indexOf('/');
    if (slash < 0) {
      lastAlone = name;
      continue;
    }
    const [resource, part] = [name.slice(0, slash), name.slice(slash + 1)];
    if (ofResource.has(resource)) place.invalid(name, `if '${resource}/*' is present, must not specify ${name}`);
    if (everywhere.has(part)) place.invalid(name, `if '*/${part}' is present, must not specify ${name}`);
    if (part === '*') ofResource.add(resource);
    if (resource === '*') everywhere.add(part);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    field.invalid(resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes('*') && lastAlone !== '*')
    field.invalid(resources, "if '*' is present, must not specify other resources without subresources");
}

export function validateRule(rule: RuleWithOperations, field: Field): void {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  validateNames(operations, 'operations', field.at('operations'));
  for (const [index, operation] of operations.entries())
    validateOptionalChoice(operation, OPERATIONS, field.at('operations').item(index));
  validateNames(apiGroups, 'API groups', field.at('apiGroups'));
  validateNames(apiVersions, 'API versions', field.at('apiVersions'));
  for (const [index, version] of apiVersions.entries())
    if (version === '') field.at('apiVersions').item(index).required();
  validateResources(resources, field.at('resources'));
  validateOptionalChoice(scope, SCOPES, field.at('scope'));
}

function validateNamedRule(rule: NamedRuleWithOperations, field: Field): void {
  const seen = new Set<string>();
  for (const [index, name] of (rule.resourceNames ?? []).entries()) {
    const place = field.at('resourceNames').item(index);
    place.complain(name, isPathSegmentName(name));
    if (seen.has(name)) place.duplicate(name);
    seen.add(name);
  }
  validateRule(rule, field);
}

/** The matched resources of a policy or a binding, after defaulting. */
export function validateMatch(match: MatchResources | undefined, field: Field): void {
  if (match === undefined) return;
  const { matchPolicy, resourceRules = [], excludeResourceRules = [] } = match;
  if (matchPolicy === undefined) field.at('matchPolicy').required();
  validateOptionalChoice(matchPolicy, ['Equivalent', 'Exact'], field.at('matchPolicy'));
  for (const name of ['namespaceSelector', 'objectSelector'] as const) {
    if (match[name] === undefined) field.at(name).required();
    validateLabelSelector(match[name], field.at(name));
  }
  for (const [index, rule] of resourceRules.entries()) validateNamedRule(rule, field.at('resourceRules').item(index));
  for (const [index, rule] of excludeResourceRules.entries())
    validateNamedRule(rule, field.at('excludeResourceRules').item(index));
}

/** A mutating policy cannot match DELETE. */
export function validateMutatedOperations(match: MatchResources | undefined, field: Field): void {
  const place = field.at('resourceRules').at('operations');
  for (const { operations } of match?.resourceRules ?? [])
    for (const operation of operations ?? []) validateOptionalChoice(operation, MUTATING_OPERATIONS, place);
}
