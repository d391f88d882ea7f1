import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubjectAccessReviewStatus } from '../../api/gen/authorization-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { explainRequest } from '../explain.ts';
import { shellWord } from '../shell-word.ts';
import { accessRequestOf } from './access-request.ts';

const binding = {
  metadata: { name: 'readers', namespace: 'shop' },
  subjects: [{ kind: 'User', name: 'ann' }],
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
};
const role = {
  metadata: { name: 'reader', namespace: 'shop' },
  rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }],
};

interface Answers {
  /** Absent when the client may not create a SubjectAccessReview. */
  readonly verdict?: SubjectAccessReviewStatus;
  readonly objects?: Readonly<Record<string, readonly object[]>>;
  /** A resource that the client may not list. */
  readonly hidden?: string;
}

function clientOf({ verdict, objects = {}, hidden }: Answers): Client {
  const refuse = (resource: string): never => {
    throw forbidden({ group: '', resource }, '', 'no');
  };
  return {
    resource: ({ resource }: ResourceInfo<KubernetesObject>) => ({
      list: async () => (resource === hidden ? refuse(resource) : { metadata: {}, items: objects[resource] ?? [] }),
      create: async (review: object) => (verdict === undefined ? refuse(resource) : { ...review, status: verdict }),
    }),
  } as unknown as Client;
}

async function explain(answers: Answers) {
  const request = accessRequestOf({ user: 'ann', verb: 'get', resource: 'pods', namespace: 'shop' }, []);
  const { state, causes, notReadable } = await explainRequest(request, { client: clientOf(answers), nowMs: 0 });
  return { state, codes: causes.map(({ code }) => code), notReadable: notReadable.length };
}

const granted = { rolebindings: [binding], roles: [role] };
const cases: readonly [string, Answers, { state: string; codes: string[]; notReadable?: number }][] = [
  ['a rule allows it', { verdict: { allowed: true }, objects: granted }, { state: 'Fine', codes: ['RuleAllows'] }],
  ['allowed without a rule', { verdict: { allowed: true } }, { state: 'Fine', codes: ['OtherAuthorizerAllows'] }],
  ['refused without a rule', { verdict: { allowed: false } }, { state: 'Trouble', codes: ['NoRuleAllows'] }],
  [
    'an authorizer denies what a rule allows',
    { verdict: { allowed: false, denied: true }, objects: granted },
    { state: 'Trouble', codes: ['AuthorizerDenies'] },
  ],
  [
    'refused, although a rule allows it: nothing is claimed',
    { verdict: { allowed: false }, objects: granted },
    { state: 'Unknown', codes: [] },
  ],
  ['no verdict: nothing is claimed', { objects: granted }, { state: 'Unknown', codes: [], notReadable: 1 }],
  [
    'refused, and not all bindings are readable: nothing is claimed',
    { verdict: { allowed: false }, hidden: 'clusterrolebindings' },
    { state: 'Unknown', codes: [], notReadable: 1 },
  ],
  [
    'allowed by a rule that is readable, others are not',
    { verdict: { allowed: true }, objects: granted, hidden: 'clusterrolebindings' },
    { state: 'Fine', codes: ['RuleAllows'], notReadable: 1 },
  ],
];
for (const [title, answers, { notReadable = 0, ...wanted }] of cases)
  test(`access: ${title}`, async () => assert.deepEqual(await explain(answers), { ...wanted, notReadable }));

test('names in commands are quoted where a shell would interpret them', () => {
  assert.equal(shellWord('system:node:a'), 'system:node:a');
  assert.equal(shellWord("a'b; rm $x"), `'a'\\''b; rm $x'`);
  assert.equal(shellWord(''), "''");
});
