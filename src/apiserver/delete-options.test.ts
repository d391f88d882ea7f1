/** Fields of delete options in the body, as clients of other languages write them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf } from '../api/schema/schema.ts';
import { startTestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

test('a null field of delete options is an absent one', async () => {
  const { send } = await startTestServer();
  const fields = [...schemaOf('', 'v1', 'DeleteOptions')!.fields.keys()];
  assert.ok(fields.includes('dryRun') && fields.includes('preconditions'));
  const bodies = [
    ...fields.map((field) => ({ [field]: null })),
    { preconditions: { uid: null, resourceVersion: null } },
  ];
  for (const body of bodies) {
    const what = JSON.stringify(body);
    assert.equal((await send('POST', MAPS, { metadata: { name: 'a' } })).status, 201);
    assert.equal((await send('DELETE', `${MAPS}/a`, body)).status, 200, what);
    assert.equal((await send('GET', `${MAPS}/a`)).status, 404, `${what} deletes`);
  }
});
