/** Responses contain null where Go's JSON does, for every read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';

type Role = { readonly rules: unknown; readonly metadata: object };

const PATH = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'none' } };
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

test('an empty list that Go always writes is null in objects, lists, tables, YAML and watches', async () => {
  const { send } = await startWithAll();
  const read = async (query: string, accept = 'application/json'): Promise<unknown> =>
    (await send('GET', `${PATH}${query}`, undefined, { accept })).body;
  const items = (list: unknown): Role[] => (list as { items: Role[] }).items;
  assert.equal(((await send('POST', PATH, { ...role, rules: [] })).body as Role).rules, null);
  assert.equal(
    ((await send('POST', `${PATH}?dryRun=All`, { ...role, metadata: { name: 'b' } })).body as Role).rules,
    null,
  );
  assert.equal(((await read('/none')) as Role).rules, null);
  assert.equal(((await read('/none?pretty=true')) as Role).rules, null);
  assert.equal(items(await read('?fieldSelector=metadata.name=none'))[0]!.rules, null);
  assert.equal(items(await read('?pretty=true&fieldSelector=metadata.name=none'))[0]!.rules, null);
  const { rows } = (await read('/none?includeObject=Object', TABLE)) as { rows: { object: Role }[] };
  assert.equal(rows[0]!.object.rules, null);
  const yaml = await send('GET', `${PATH}/none`, undefined, { accept: 'application/yaml' });
  assert.match(yaml.text, /^rules: null$/mu);
});

test('a JSON patch sees the null', async () => {
  const { send } = await startWithAll();
  await send('POST', PATH, role);
  const patch = (operations: object[]) =>
    send('PATCH', `${PATH}/none`, operations, { 'content-type': 'application/json-patch+json' });
  const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
  const refused = await patch([{ op: 'add', path: '/rules/-', value: rule }]);
  assert.equal(refused.status, 422, refused.text);
  const made = await patch([
    { op: 'test', path: '/rules', value: null },
    { op: 'replace', path: '/rules', value: [rule] },
  ]);
  assert.equal(made.status, 200, made.text);
  assert.deepEqual((made.body as Role).rules, [rule]);
});
