/** Flow schemas and priority levels. Upstream: apis/flowcontrol/validation. */
import type { Field } from '../field-error.ts';
import type {
  FlowSchema,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  QueuingConfiguration,
  Subject,
} from '../gen/flowcontrol-v1.ts';
import { isDns1123Label, isDns1123Subdomain } from '../names.ts';
import { validateChoice, validatePositive } from './common.ts';

const MAX_PRECEDENCE = 10000;

function validateSubject(subject: Subject, field: Field): void {
  switch (subject.kind) {
    case 'ServiceAccount':
      if (subject.serviceAccount === undefined)
        return field.at('serviceAccount').required("serviceAccount is required when subject kind is 'ServiceAccount'");
      if (subject.serviceAccount.name !== '*')
        field
          .at('serviceAccount')
          .at('name')
          .complain(subject.serviceAccount.name, isDns1123Subdomain(subject.serviceAccount.name));
      if ((subject.serviceAccount.namespace ?? '') === '')
        field.at('serviceAccount').at('namespace').required('must specify namespace for service account');
      else
        field
          .at('serviceAccount')
          .at('namespace')
          .complain(subject.serviceAccount.namespace, isDns1123Label(subject.serviceAccount.namespace));
      return;
    case 'User':
      if (subject.user === undefined) field.at('user').required("user is required when subject kind is 'User'");
      else if ((subject.user.name ?? '') === '') field.at('user').at('name').required();
      return;
    case 'Group':
      if (subject.group === undefined) field.at('group').required("group is required when subject kind is 'Group'");
      else if ((subject.group.name ?? '') === '') field.at('group').at('name').required();
      return;
    default:
      field.at('kind').notSupported(subject.kind, ['Group', 'ServiceAccount', 'User']);
  }
}

function validateRules(rules: PolicyRulesWithSubjects, field: Field): void {
  if ((rules.subjects ?? []).length === 0) field.at('subjects').required('subjects must contain at least one value');
  for (const [index, subject] of (rules.subjects ?? []).entries())
    validateSubject(subject, field.at('subjects').item(index));
  const { resourceRules = [], nonResourceRules = [] } = rules;
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    field.required('at least one of resourceRules and nonResourceRules has to be non-empty');
  for (const [index, rule] of resourceRules.entries()) {
    const place = field.at('resourceRules').item(index);
    if ((rule.verbs ?? []).length === 0) place.at('verbs').required('verbs must contain at least one value');
    if ((rule.apiGroups ?? []).length === 0)
      place.at('apiGroups').required('resource rules must supply at least one api group');
    if ((rule.resources ?? []).length === 0)
      place.at('resources').required('resource rules must supply at least one resource');
    if ((rule.namespaces ?? []).length === 0 && rule.clusterScope !== true)
      place.at('namespaces').required('resource rules that are not cluster scoped must supply at least one namespace');
  }
  for (const [index, rule] of nonResourceRules.entries()) {
    const place = field.at('nonResourceRules').item(index);
    if ((rule.verbs ?? []).length === 0) place.at('verbs').required('verbs must contain at least one value');
    if ((rule.nonResourceURLs ?? []).length === 0)
      place.at('nonResourceURLs').required('nonResourceURLs must contain at least one value');
  }
}

export function validateFlowSchema(schema: FlowSchema, field: Field): void {
  const spec = field.at('spec');
  const precedence = schema.spec?.matchingPrecedence ?? 0;
  if (precedence <= 0) spec.at('matchingPrecedence').invalid(precedence, 'must be a positive value');
  if (precedence > MAX_PRECEDENCE)
    spec.at('matchingPrecedence').invalid(precedence, `must not be greater than ${MAX_PRECEDENCE}`);
  if (precedence === 1 && schema.metadata.name !== 'exempt')
    spec.at('matchingPrecedence').invalid(precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  const method = schema.spec?.distinguisherMethod?.type;
  if (method !== undefined && method !== 'ByNamespace' && method !== 'ByUser')
    spec.at('distinguisherMethod').at('type').notSupported(schema.spec!.distinguisherMethod, ['ByNamespace', 'ByUser']);
  if ((schema.spec?.priorityLevelConfiguration?.name ?? '') === '')
    spec.at('priorityLevelConfiguration').at('name').required('must reference a priority level');
  for (const [index, rules] of (schema.spec?.rules ?? []).entries()) validateRules(rules, spec.at('rules').item(index));
}

function validateQueuing(queuing: QueuingConfiguration, field: Field): void {
  validatePositive(queuing.queueLengthLimit ?? 0, field.at('queueLengthLimit'));
  const { queues = 0, handSize = 0 } = queuing;
  if (queues <= 0) field.at('queues').invalid(queues, 'must be positive');
  if (handSize <= 0) field.at('handSize').invalid(handSize, 'must be positive');
  if (handSize > queues) field.at('handSize').invalid(handSize, `should not be greater than queues (${queues})`);
}

export function validatePriorityLevel(level: PriorityLevelConfiguration, field: Field): void {
  const spec = field.at('spec');
  const { type = '', limited, exempt } = level.spec ?? {};
  validateChoice(type, ['Exempt', 'Limited'], spec.at('type'));
  if (type === 'Exempt' && limited !== undefined)
    spec.at('limited').forbidden('must be nil if the type is not Limited');
  if (type === 'Limited' && exempt !== undefined) spec.at('exempt').forbidden('must be nil if the type is Limited');
  if (type !== 'Limited') return;
  if (limited === undefined) return spec.at('limited').required('must not be empty when type is Limited');
  if ((limited.nominalConcurrencyShares ?? 0) < 0)
    spec
      .at('limited')
      .at('nominalConcurrencyShares')
      .invalid(limited.nominalConcurrencyShares, 'must be a non-negative integer');
  const response = limited.limitResponse;
  const place = spec.at('limited').at('limitResponse');
  if (response?.type === 'Reject') {
    if (response.queuing !== undefined)
      place.at('queuing').forbidden('must be nil if limited.limitResponse.type is not Limited');
  } else if (response?.type === 'Queue') {
    if (response.queuing === undefined)
      place.at('queuing').required('must not be empty if limited.limitResponse.type is Limited');
    else validateQueuing(response.queuing, place.at('queuing'));
  } else {
    place.at('type').notSupported(response?.type ?? '', ['Queue', 'Reject']);
  }
}
