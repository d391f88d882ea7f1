/** The rights of the user, from the server's SelfSubjectRulesReview, requested once per namespace. */
import type { NonResourceRule, ResourceRule, SelfSubjectRulesReview } from '../../api/gen/authorization-v1.ts';
import { sendJson } from './http.ts';
import type { Kind } from './kinds.ts';

/** The rules that apply in a namespace. */
export interface Access {
  readonly rules: readonly ResourceRule[];
  /** Paths outside the resources that the user may request, such as /metrics. */
  readonly pathRules: readonly NonResourceRule[];
  /** False when an authorizer cannot list its rules: a request that no rule allows may still be allowed. */
  readonly complete: boolean;
}

/** A namespace without role bindings: the rules there apply everywhere. */
const EVERYWHERE = 'keelson-console-no-such-namespace';

const asked = new Map<string, Promise<Access>>();

/** The rules in a namespace; for '' the rules that apply in all namespaces and to cluster-scoped resources. */
export function accessIn(namespace: string): Promise<Access> {
  const known = asked.get(namespace);
  if (known !== undefined) return known;
  const asking = ask(namespace || EVERYWHERE);
  asked.set(namespace, asking);
  asking.catch(() => asked.delete(namespace));
  return asking;
}

/** Clears the cache, as after another sign-in. */
export function forgetAccess(): void {
  asked.clear();
}

async function ask(namespace: string): Promise<Access> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
  const { status } = await sendJson<SelfSubjectRulesReview>('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(review),
  });
  return {
    rules: status?.resourceRules ?? [],
    pathRules: status?.nonResourceRules ?? [],
    complete: status?.incomplete !== true,
  };
}

/** A verb on a resource, such as `pods`, or on a subresource, such as `pods/log`. */
export interface AccessAttributes {
  readonly verb: string;
  readonly kind: Pick<Kind, 'group' | 'resource'>;
  readonly subresource?: string;
  readonly name?: string;
}

/** Whether the rules allow the action, as RBAC evaluates them. When not all rules are known, true: the server decides. */
export function allows(
  { rules, complete }: Access,
  { verb, kind, subresource = '', name = '' }: AccessAttributes,
): boolean {
  if (!complete) return true;
  const resource = subresource === '' ? kind.resource : `${kind.resource}/${subresource}`;
  return rules.some(
    (rule) =>
      has(rule.verbs, verb) &&
      has(rule.apiGroups, kind.group) &&
      (has(rule.resources, resource) ||
        (subresource !== '' && rule.resources?.includes(`*/${subresource}`) === true)) &&
      (!rule.resourceNames?.length || rule.resourceNames.includes(name)),
  );
}

/** `allows` for a path; a rule's path may end in `*`. */
export function allowsPath({ pathRules, complete }: Access, verb: string, path: string): boolean {
  const matches = (pattern: string): boolean =>
    pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
  return (
    !complete || pathRules.some(({ verbs, nonResourceURLs }) => has(verbs, verb) && nonResourceURLs?.some(matches))
  );
}

function has(list: readonly string[] | undefined, word: string): boolean {
  return list?.includes('*') === true || list?.includes(word) === true;
}
