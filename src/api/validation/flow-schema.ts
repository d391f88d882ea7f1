/** Validation of flow schemas. Upstream: apis/flowcontrol/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type {
  FlowSchema,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  ServiceAccountSubject,
  Subject,
} from '../gen/flowcontrol-v1.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { validateTypedConditions } from './common.ts';
import { internalForm } from './internal-form.ts';

const MAX_PRECEDENCE = 10_000;
const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'] as const;

/** The field of a subject that its kind requires; all other kinds must leave it out. */
const SUBJECT_PARTS = { ServiceAccount: 'serviceAccount', User: 'user', Group: 'group' } as const;

function validateAccount({ name = '', namespace = '' }: Partial<ServiceAccountSubject>, field: Field): void {
  if (name === '') field.at('name').required();
  else if (name !== '*') field.at('name').complain(name, isDns1123Subdomain(name));
  if (namespace === '') field.at('namespace').required('must specify namespace for service account');
  else field.at('namespace').complain(namespace, isDns1123Label(namespace));
}

function validateSubject(subject: Subject, field: Field): void {
  const own = SUBJECT_PARTS[subject.kind as keyof typeof SUBJECT_PARTS];
  if (own === undefined)
    return field.at('kind').notSupported(subject.kind ?? '', Object.keys(SUBJECT_PARTS).toSorted());
  const part = subject[own];
  if (part === undefined) field.at(own).required(`${own} is required when subject kind is '${subject.kind}'`);
  else if (own === 'serviceAccount') validateAccount(part, field.at(own));
  else if ((part.name ?? '') === '') field.at(own).at('name').required();
  for (const [kind, name] of Object.entries(SUBJECT_PARTS))
    if (name !== own && subject[name] !== undefined)
      field.at(name).forbidden(`${name} is forbidden when subject kind is not '${kind}'`);
}

function validateVerbs(verbs: readonly string[], field: Field): void {
  if (verbs.length === 0) field.required('verbs must contain at least one value');
  else if (verbs.includes('*')) validateAlone(verbs, 'verbs', field);
  else if (verbs.some((verb) => !(VERBS as readonly string[]).includes(verb))) field.notSupported(verbs, VERBS);
}

/** A list that contains `*` must have no other item. */
function validateAlone(values: readonly string[], what: string, field: Field): void {
  if (values.length > 1 && values.includes('*'))
    field.invalid(values, `if '*' is present, must not specify other ${what}`);
}

function urlProblem(path: string): string | undefined {
  if (path === '') return 'must not be empty';
  if (path === '/') return undefined;
  if (!path.startsWith('/')) return 'must start with slash';
  if (path.includes(' ')) return 'must not contain white-space';
  if (path.includes('//')) return 'must not contain double slash';
  const stars = path.split('*').length - 1;
  return stars > 1 || (stars === 1 && !path.endsWith('/*')) ? 'wildcard can only do suffix matching' : undefined;
}

function validateNonResourceRule({ verbs = [], nonResourceURLs = [] }: NonResourcePolicyRule, field: Field): void {
  validateVerbs(verbs, field.at('verbs'));
  const place = field.at('nonResourceURLs');
  if (nonResourceURLs.length === 0) place.required('nonResourceURLs must contain at least one value');
  else if (nonResourceURLs.includes('*')) validateAlone(nonResourceURLs, 'non-resource URLs', place);
  else
    for (const [index, url] of nonResourceURLs.entries()) {
      const problem = urlProblem(url);
      if (problem !== undefined) place.item(index).invalid(url, problem);
    }
}

function validateResourceRule(rule: ResourcePolicyRule, field: Field): void {
  const { verbs = [], apiGroups = [], resources = [], namespaces = [] } = rule;
  validateVerbs(verbs, field.at('verbs'));
  if (apiGroups.length === 0) field.at('apiGroups').required('resource rules must supply at least one api group');
  else validateAlone(apiGroups, 'api groups', field.at('apiGroups'));
  if (resources.length === 0) field.at('resources').required('resource rules must supply at least one resource');
  else validateAlone(resources, 'resources', field.at('resources'));
  const place = field.at('namespaces');
  if (namespaces.length === 0 && rule.clusterScope !== true)
    place.required('resource rules that are not cluster scoped must supply at least one namespace');
  else if (namespaces.includes('*')) validateAlone(namespaces, 'namespaces', place);
  else
    for (const [index, namespace] of namespaces.entries())
      for (const problem of isDns1123Label(namespace))
        place.item(index).invalid(namespace, `each member of this list must be '*' or a DNS-1123 label; ${problem}`);
}

function validateRules(rules: PolicyRulesWithSubjects, field: Field): void {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rules;
  if (subjects.length === 0) field.at('subjects').required('subjects must contain at least one value');
  for (const [index, subject] of subjects.entries()) validateSubject(subject, field.at('subjects').item(index));
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    field.required('at least one of resourceRules and nonResourceRules has to be non-empty');
  for (const [index, rule] of resourceRules.entries())
    validateResourceRule(rule, field.at('resourceRules').item(index));
  for (const [index, rule] of nonResourceRules.entries())
    validateNonResourceRule(rule, field.at('nonResourceRules').item(index));
}

function validateSpec(spec: Partial<FlowSchemaSpec>, name: string | undefined, field: Field): void {
  const { matchingPrecedence: precedence = 0, distinguisherMethod: method, priorityLevelConfiguration: level } = spec;
  const place = field.at('matchingPrecedence');
  if (precedence <= 0) place.invalid(precedence, 'must be a positive value');
  if (precedence > MAX_PRECEDENCE) place.invalid(precedence, `must not be greater than ${MAX_PRECEDENCE}`);
  if (precedence === 1 && name !== 'exempt')
    place.invalid(precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  if (method !== undefined && method.type !== 'ByNamespace' && method.type !== 'ByUser')
    field
      .at('distinguisherMethod')
      .at('type')
      .notSupported(internalForm(method, 'flowcontrol.v1.FlowDistinguisherMethod'), ['ByNamespace', 'ByUser']);
  const levelName = level?.name ?? '';
  const levelPlace = field.at('priorityLevelConfiguration').at('name');
  if (levelName === '') levelPlace.required('must reference a priority level');
  else levelPlace.complain(levelName, isDns1123Subdomain(levelName));
  for (const [index, rules] of (spec.rules ?? []).entries()) validateRules(rules, field.at('rules').item(index));
}

/** `fixed`: the mandatory spec of a schema with this name. */
export function validateFlowSchema(schema: FlowSchema, field: Field, fixed?: FlowSchemaSpec): void {
  const { name } = schema.metadata;
  validateSpec(schema.spec ?? {}, name, field.at('spec'));
  if (fixed !== undefined && !deepEqual(schema.spec, fixed))
    field
      .at('spec')
      .invalid(
        schema.spec && internalForm(schema.spec, 'flowcontrol.v1.FlowSchemaSpec'),
        `spec of '${name}' must equal the fixed value`,
      );
  validateFlowStatus(schema, field);
}

/** Validates the status of flow schemas and of priority levels. */
export function validateFlowStatus({ status }: Pick<FlowSchema, 'status'>, field: Field): void {
  validateTypedConditions(status?.conditions, field.at('status').at('conditions'));
}
