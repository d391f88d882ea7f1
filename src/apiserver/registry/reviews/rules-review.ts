/** The answer to a SelfSubjectRulesReview. Upstream: registry/authorization/selfsubjectrulesreview. */
import type { SubjectRulesReviewStatus } from '../../../api/gen/authorization-v1.ts';
import type { PolicyRule } from '../../../api/gen/rbac-v1.ts';

/** The limit of rules in an answer, which would otherwise be as long as all roles together. */
const MOST_RULES = 10_000;

/** The rules in the review's form; beyond the limit the first ones, marked as incomplete. */
export function rulesReviewStatus(all: readonly PolicyRule[]): SubjectRulesReviewStatus {
  const rules = all.slice(0, MOST_RULES);
  const incomplete = all.length > rules.length;
  const status = {
    resourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs === undefined)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        ...(apiGroups && { apiGroups }),
        ...(resources && { resources }),
        ...(resourceNames && { resourceNames }),
      })),
    nonResourceRules: rules.flatMap(({ verbs, nonResourceURLs }) =>
      nonResourceURLs === undefined ? [] : [{ verbs, nonResourceURLs }],
    ),
    incomplete,
  };
  return incomplete ? { ...status, evaluationError: `the first ${MOST_RULES} of ${all.length} rules` } : status;
}
