/** Documents that the server itself makes have their fields in the order of upstream's structs: some clients compare texts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';

const META = 'kind apiVersion metadata';
/** The fields of documents and their nested objects, in upstream's order; `*` stands for the items of a list. */
const ORDERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Status: {
    '': `${META} status message reason details code`,
    details: 'name group kind uid causes retryAfterSeconds',
    'details.causes.*': 'reason message field',
  },
  Table: {
    '': `${META} columnDefinitions rows`,
    'columnDefinitions.*': 'name type format description priority',
    'rows.*': 'cells conditions object',
  },
  APIVersions: {
    '': 'kind apiVersion versions serverAddressByClientCIDRs',
    'serverAddressByClientCIDRs.*': 'clientCIDR serverAddress',
  },
  APIGroupList: {
    '': 'kind apiVersion groups',
    'groups.*': 'name versions preferredVersion serverAddressByClientCIDRs',
    'groups.*.preferredVersion': 'groupVersion version',
  },
  APIGroup: {
    '': 'kind apiVersion name versions preferredVersion serverAddressByClientCIDRs',
    'versions.*': 'groupVersion version',
  },
  APIResourceList: {
    '': 'kind apiVersion groupVersion resources',
    'resources.*': 'name singularName namespaced group version kind verbs shortNames categories storageVersionHash',
  },
  APIGroupDiscoveryList: {
    '': `${META} items`,
    'items.*': 'metadata versions',
    'items.*.versions.*': 'version resources freshness',
    'items.*.versions.*.resources.*':
      'resource responseKind scope singularResource verbs shortNames categories subresources',
    'items.*.versions.*.resources.*.responseKind': 'group version kind',
    'items.*.versions.*.resources.*.subresources.*': 'subresource responseKind acceptedTypes verbs',
  },
  Scale: { '': `${META} spec status`, status: 'replicas selector' },
  SubjectAccessReview: { '': `${META} spec status`, status: 'allowed denied reason evaluationError' },
  ConfigMapList: { '': `${META} items`, metadata: 'selfLink resourceVersion continue remainingItemCount' },
};

function partsAt(value: unknown, path: string): unknown[] {
  if (path === '') return [value];
  const [step = '', ...rest] = path.split('.');
  const next =
    step === '*' ? ((value as unknown[] | undefined) ?? []) : [(value as Record<string, unknown> | undefined)?.[step]];
  return next.flatMap((item) => (item === undefined ? [] : partsAt(item, rest.join('.'))));
}

const deployment = {
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
};
const MAPS = '/api/v1/namespaces/default/configmaps';
const APPS = '/apis/apps/v1/namespaces/default/deployments';
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const requests: readonly [string, string, unknown?, Record<string, string>?][] = [
  ['GET', '/api/v1/namespaces/nope'],
  ['GET', '/nowhere'],
  ['GET', `${MAPS}?labelSelector=a+b+c`],
  ['POST', MAPS, { metadata: { name: '-' } }],
  ['POST', MAPS, { metadata: { name: 'a' } }],
  ['POST', MAPS, { metadata: { name: 'a' } }],
  ['POST', APPS, {}],
  ['POST', APPS, deployment],
  ['PUT', `${MAPS}/a`, { metadata: { name: 'a', resourceVersion: '1' } }],
  ['PATCH', `${MAPS}/a`, [{ op: 'remove', path: '/nope' }], { 'content-type': 'application/json-patch+json' }],
  ['PATCH', `${MAPS}/a`, {}, { 'content-type': 'text/plain' }],
  ['GET', `${APPS}/d/scale`],
  ['GET', `${MAPS}?limit=1`],
  ['GET', MAPS, undefined, { accept: TABLE }],
  ['GET', MAPS, undefined, { accept: 'image/png' }],
  ['DELETE', `${MAPS}/a`],
  ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec: { user: 'u', nonResourceAttributes: {} } }],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', { spec: { namespace: 'default' } }],
  ['GET', '/api'],
  ['GET', '/apis'],
  ['GET', '/apis/apps'],
  ['GET', '/api/v1'],
  ['GET', '/apis', undefined, { accept: AGGREGATED }],
];

test("documents the server makes have their fields in upstream's order", async () => {
  const { send } = await startWithAll();
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const [method, path, body, headers] of requests) {
    const { body: document } = (await send(method, path, body, headers)) as { body: { kind: string } | undefined };
    if (document === undefined) continue;
    const orders = ORDERS[document.kind];
    if (orders === undefined) continue;
    seen.add(document.kind);
    for (const [place, order] of Object.entries(orders))
      for (const part of partsAt(document, place)) {
        const expected = order.split(' ').filter((name) => Object.hasOwn(part as object, name));
        const found = Object.keys(part as object).join(' ');
        if (found !== expected.join(' ')) wrong.push(`${method} ${path} ${document.kind}.${place}: ${found}`);
      }
  }
  assert.deepEqual([...new Set(wrong)], []);
  assert.deepEqual([...seen].toSorted(), Object.keys(ORDERS).toSorted());
});
