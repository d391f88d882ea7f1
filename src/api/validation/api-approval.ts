/** Whether a definition in a group of the Kubernetes community was approved. Upstream: apiextensions/helpers.go GetAPIApprovalState. */

/** The annotation with the URL of the approval. */
export const API_APPROVED_ANNOTATION = 'api-approved.kubernetes.io';

/** The reason and message of the condition, derived from the annotation. */
export interface ApiApproval {
  readonly state: 'MissingAnnotation' | 'InvalidAnnotation' | 'ApprovedAnnotation' | 'UnapprovedAnnotation';
  readonly message: string;
}

const SEE = 'see https://github.com/kubernetes/enhancements/pull/1111';

/** Whether the group belongs to the community: `k8s.io`, `kubernetes.io` and their subdomains. */
export function isProtectedGroup(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}

/** The approval according to the annotation. */
export function apiApprovalOf(annotations: Readonly<Record<string, string>> | undefined): ApiApproval {
  const text = annotations?.[API_APPROVED_ANNOTATION] ?? '';
  const must = `protected groups must have approval annotation "${API_APPROVED_ANNOTATION}"`;
  if (text === '') return { state: 'MissingAnnotation', message: `${must}, ${SEE}` };
  if (text.startsWith('unapproved')) return { state: 'UnapprovedAnnotation', message: `not approved: "${text}"` };
  if (URL.canParse(text) && new URL(text).host !== '')
    return { state: 'ApprovedAnnotation', message: `approved in ${text}` };
  return {
    state: 'InvalidAnnotation',
    message: `${must} with either a URL or a reason starting with "unapproved", ${SEE}`,
  };
}
