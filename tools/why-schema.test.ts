/** docs/why.schema.json equals the code's types, and the server's responses match it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { image } from '../src/cri/sim/sim-image.ts';
import { Cluster } from '../src/testing/cluster.ts';
import { repositoryRoot } from './repository.ts';
import { SCHEMA_FILE, whySchema } from './why-schema.ts';

const published = readFileSync(join(repositoryRoot, SCHEMA_FILE), 'utf8');

test('docs/why.schema.json is current (node tools/why-schema.ts writes it, npm run format formats it)', () => {
  assert.deepEqual(JSON.parse(published), JSON.parse(whySchema()));
});

test('responses of the API server match the schema', async () => {
  await using cluster = await Cluster.start({
    nodes: 1,
    images: [image('crashes:1', { exits: { code: 3, after: '1s' } })],
  });
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'web', image: 'crashes:1' }] },
  });
  await cluster.advance('2m');
  const whole = JSON.parse(published) as { $defs: object };
  for (const [path, kind] of [
    ['why/api/v1/namespaces/default/pods/web', 'Explanation'],
    ['why/api/v1/pods', 'ExplanationList'],
    ['trouble', 'Troubles'],
  ] as const) {
    const { body } = await cluster.client.raw({ path: `/keelson/v1/${path}` });
    const answer = JSON.parse(Buffer.from(body).toString('utf8')) as { kind: string };
    assert.equal(answer.kind, kind);
    const schema = z.fromJSONSchema({ $defs: whole.$defs, $ref: `#/$defs/${kind}` } as never);
    assert.deepEqual(schema.parse(answer), answer);
    assert.throws(() => schema.parse({ ...answer, kind: 'Other' }));
  }
});
