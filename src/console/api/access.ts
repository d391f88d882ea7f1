/** What the user may do, by the server's own reviews; asked once per namespace. */
import type { NonResourceRule, ResourceRule, SelfSubjectRulesReview } from '../../api/gen/authorization-v1.ts';
import { sendJson } from './http.ts';
import type { Kind } from './kinds.ts';

/** Rules that hold in a namespace. */
export interface Access {
  readonly rules: readonly ResourceRule[];
  /** Which paths outside the resources may be asked for, such as /metrics. */
  readonly pathRules: readonly NonResourceRule[];
  /** False: an authorizer cannot list its rules, so that what no rule allows may be allowed all the same. */
  readonly complete: boolean;
}

/** Has no role bindings of its own: rules that hold there hold everywhere. */
const EVERYWHERE = 'keelson-console-no-such-namespace';

const asked = new Map<string, Promise<Access>>();

/** The rules in a namespace; of '' those that hold in all of them and for what has no namespace. */
export function accessIn(namespace: string): Promise<Access> {
  const known = asked.get(namespace);
  if (known !== undefined) return known;
  const asking = ask(namespace || EVERYWHERE);
  asked.set(namespace, asking);
  asking.catch(() => asked.delete(namespace));
  return asking;
}

/** Forgets what was asked, as after another sign-in. */
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

/** What is asked for: `pods`, `pods/log` by its subresource. */
export interface Deed {
  readonly verb: string;
  readonly kind: Pick<Kind, 'group' | 'resource'>;
  readonly subresource?: string;
  readonly name?: string;
}

/** Whether the rules allow it, as RBAC reads them. Where rules are not all known: true, for the server decides anyway. */
export function allows({ rules, complete }: Access, { verb, kind, subresource = '', name = '' }: Deed): boolean {
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

/** The same of a path; a rule's path may end in `*`. */
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
