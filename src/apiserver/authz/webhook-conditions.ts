/**
 * Expressions that decide for which requests an authorization webhook is called. Upstream:
 * apiserver/pkg/authorization/cel.
 */
import type { SubjectAccessReviewSpec } from '../../api/gen/authorization-v1.ts';
import { createEnvironment } from '../../api/cel/environment.ts';
import { listType, mapType, STRING, structOf } from '../../api/cel/value-types.ts';
import { compileConditions, evaluateConditions } from '../admission-matching/match-conditions.ts';

const RESOURCE_FIELDS = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'] as const;

const requestType = structOf('kubernetes.SubjectAccessReviewSpec', {
  user: STRING,
  groups: listType(STRING),
  uid: STRING,
  extra: mapType(listType(STRING)),
  resourceAttributes: structOf(
    'kubernetes.ResourceAttributes',
    Object.fromEntries(RESOURCE_FIELDS.map((field) => [field, STRING])),
  ),
  nonResourceAttributes: structOf('kubernetes.NonResourceAttributes', { path: STRING, verb: STRING }),
});

/** Whether all conditions are true for a review. Throws an Error when an evaluation fails. */
export type MatchesReview = (spec: SubjectAccessReviewSpec) => boolean;

/** Compiles the conditions. Throws an Error that names what cannot be compiled. */
export function compileWebhookConditions(expressions: readonly string[]): MatchesReview {
  const environment = createEnvironment({ request: requestType.type });
  const conditions = expressions.map((expression, index) => ({ name: `matchConditions[${index}]`, expression }));
  const compiled = compileConditions(conditions, environment);
  for (const { name, program } of compiled) if (typeof program === 'string') throw new Error(`${name}: ${program}`);
  return (spec) => {
    const { matches, error } = evaluateConditions(
      compiled,
      { request: requestType.value(withAllFields(spec)) },
      'Fail',
    );
    if (error !== undefined) throw new Error(error);
    return matches;
  };
}

/** The spec with all string fields, also empty ones, so that expressions need not test for them. */
function withAllFields(spec: SubjectAccessReviewSpec): object {
  const { user = '', groups = [], uid = '', extra = {}, resourceAttributes, nonResourceAttributes } = spec;
  const named = Object.fromEntries(RESOURCE_FIELDS.map((field) => [field, resourceAttributes?.[field] ?? '']));
  return {
    user,
    groups,
    uid,
    extra,
    ...(resourceAttributes === undefined ? {} : { resourceAttributes: named }),
    ...(nonResourceAttributes === undefined
      ? {}
      : { nonResourceAttributes: { path: '', verb: '', ...nonResourceAttributes } }),
  };
}
