import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryParams } from './query-params.ts';
import { startTestServer } from './server-fixture.ts';

test('a thousand parameters are read, one more is refused before anything is', async () => {
  assert.equal([...queryParams(Array(1000).fill('command=a').join('&'))].length, 1000);
  for (const query of ['a&'.repeat(1000), '&'.repeat(60_000), 'a=1&'.repeat(15_000)])
    assert.throws(() => queryParams(query), { message: /too many query parameters: 1000 at most/ });
  const { send } = await startTestServer();
  const { status, body } = await send('GET', `/version?${'a&'.repeat(30_000)}`);
  assert.deepEqual([status, body.reason], [400, 'BadRequest']);
});
