import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from './server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const WRITERS = 30;

test('writers of one large object that lose a race have their turns: their work is a multiple of their number', async () => {
  let tries = 0;
  const counting = {
    name: 'counting',
    handles: () => true,
    validate: () => {
      tries++;
    },
  };
  const server = await startTestServer({ admission: [counting] });
  const data = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 'x'.repeat(100)]));
  await server.send('POST', MAPS, { metadata: { name: 'large' }, data });
  tries = 0;
  const answers = await Promise.all(
    Array.from({ length: WRITERS }, (_, index) =>
      server.send(
        'PATCH',
        `${MAPS}/large`,
        { data: { [`k${index}`]: 'y' } },
        { 'content-type': 'application/merge-patch+json' },
      ),
    ),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  const { body } = await server.send('GET', `${MAPS}/large`);
  const written = Object.values((body as unknown as { data: Record<string, string> }).data).filter((v) => v === 'y');
  assert.equal(written.length, WRITERS);
  assert.ok(tries >= WRITERS && tries <= 3 * WRITERS, `${tries} tries`);
  await server.server.stop();
});
