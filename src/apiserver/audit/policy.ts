/**
 * Which requests are audited, at what level, and at which stages. The first matching rule decides. Upstream:
 * audit/policy.
 */
import { allows } from '../../base/lists.ts';
import { shown } from '../../base/shown.ts';
import { isObject, refuseUnknownFields } from '../../api/codec/own-property.ts';
import { withoutNulls } from '../../api/codec/without-nulls.ts';
import type { RequestScope } from '../request-scope.ts';

/** How much is recorded. */
const AUDIT_LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;

export type AuditLevel = (typeof AUDIT_LEVELS)[number];

/** When events are made. */
const AUDIT_STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;

export type AuditStage = (typeof AUDIT_STAGES)[number];

interface GroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface PolicyRule {
  readonly level: AuditLevel;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly GroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

/** audit.k8s.io/v1 Policy, checked. */
export interface AuditPolicy {
  readonly rules: readonly PolicyRule[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** The level and stages at which one request is recorded. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** Checks a decoded Policy. Throws an Error that names the mistake. */
export function checkPolicy(document: unknown): AuditPolicy {
  // An empty `users:` counts as absent.
  const value = withoutNulls(document);
  if (!isObject(value)) throw new Error('the audit policy is not an object');
  if (value['apiVersion'] !== 'audit.k8s.io/v1' || value['kind'] !== 'Policy')
    throw new Error(
      `unknown group version field ${shown(value['apiVersion'])} or kind ${shown(value['kind'])} in policy; it must be audit.k8s.io/v1 Policy`,
    );
  const rules = value['rules'];
  if (!Array.isArray(rules) || rules.length === 0) throw new Error('loaded illegal policy with 0 rules');
  for (const [index, rule] of rules.entries()) checkRule(rule, `rules[${index}]`);
  refuseUnknownFields(value, POLICY_FIELDS, '');
  checkStages(value['omitStages'], 'omitStages');
  return {
    rules: rules as PolicyRule[],
    omitStages: (value['omitStages'] ?? []) as AuditStage[],
    omitManagedFields: value['omitManagedFields'] === true,
  };
}

const POLICY_FIELDS = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields'];

const RULE_FIELDS = [
  'level',
  'users',
  'userGroups',
  'verbs',
  'resources',
  'namespaces',
  'nonResourceURLs',
  'omitStages',
  'omitManagedFields',
];

function checkRule(rule: unknown, place: string): void {
  if (!isObject(rule)) throw new Error(`${place}: not an object`);
  refuseUnknownFields(rule, RULE_FIELDS, place);
  const { level } = rule;
  if (!AUDIT_LEVELS.some((one) => one === level))
    throw new Error(
      `${place}.level: Unsupported value: ${JSON.stringify(level ?? '')}: supported values: "None", "Metadata", "Request", "RequestResponse"`,
    );
  for (const key of ['users', 'userGroups', 'verbs', 'namespaces', 'nonResourceURLs'])
    checkTexts(rule[key], `${place}.${key}`);
  for (const [index, one] of listAt(rule['resources'], `${place}.resources`).entries())
    checkResources(one, `${place}.resources[${index}]`);
  const has = (key: string): boolean => ((rule[key] as unknown[] | undefined) ?? []).length > 0;
  if (has('nonResourceURLs') && (has('resources') || has('namespaces')))
    throw new Error(`${place}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs`);
  checkStages(rule['omitStages'], `${place}.omitStages`);
}

function listAt(value: unknown, place: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Error(`${place}: not a list`);
  return value;
}

function checkTexts(value: unknown, place: string): void {
  for (const [index, one] of listAt(value, place).entries())
    if (typeof one !== 'string') throw new Error(`${place}[${index}]: not a text`);
}

const RESOURCE_FIELDS = ['group', 'resources', 'resourceNames'];

function checkResources(value: unknown, place: string): void {
  if (!isObject(value)) throw new Error(`${place}: not an object`);
  refuseUnknownFields(value, RESOURCE_FIELDS, place);
  const { group = '' } = value;
  if (typeof group !== 'string') throw new Error(`${place}.group: not a text`);
  checkTexts(value['resources'], `${place}.resources`);
  checkTexts(value['resourceNames'], `${place}.resourceNames`);
}

function checkStages(stages: unknown, place: string): void {
  for (const stage of listAt(stages, place))
    if (!AUDIT_STAGES.some((one) => one === stage))
      throw new Error(
        `${place}: Unsupported value: ${JSON.stringify(stage)}: allowed stages are ${AUDIT_STAGES.join(',')}`,
      );
}

/** The level and stages at which the request is audited. */
export function decideAudit(policy: AuditPolicy, scope: RequestScope): AuditDecision {
  const rule = policy.rules.find((one) => covers(one, scope));
  if (rule === undefined)
    return { level: 'None', omitStages: policy.omitStages, omitManagedFields: policy.omitManagedFields };
  return {
    level: rule.level,
    omitStages: [...policy.omitStages, ...(rule.omitStages ?? [])],
    omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields,
  };
}

function covers(rule: PolicyRule, { user, info }: RequestScope): boolean {
  const { userGroups = [], namespaces = [], resources = [], nonResourceURLs = [] } = rule;
  if (!allows(rule.users, user.name) || !allows(rule.verbs, info.verb)) return false;
  if (userGroups.length > 0 && !userGroups.some((group) => user.groups.includes(group))) return false;
  if (namespaces.length > 0 || resources.length > 0) {
    if (!info.isResourceRequest || !allows(namespaces, info.namespace)) return false;
    return resources.length === 0 || resources.some((one) => coversResource(one, info));
  }
  if (nonResourceURLs.length === 0) return true;
  return !info.isResourceRequest && nonResourceURLs.some((pattern) => coversPath(pattern, info.path));
}

function coversResource(rule: GroupResources, info: RequestScope['info']): boolean {
  const { apiGroup, resource, subresource, name } = info;
  if ((rule.group ?? '') !== apiGroup || !allows(rule.resourceNames, name)) return false;
  const { resources = [] } = rule;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return (
    resources.length === 0 ||
    resources.some(
      (one) =>
        one === '*' || one === whole || one === `${resource}/*` || (subresource !== '' && one === `*/${subresource}`),
    )
  );
}

function coversPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}
