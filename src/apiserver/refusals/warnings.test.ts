/** Built-in kinds are accepted with the warnings of upstream's strategies: all of them, in upstream's order. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';
import type { TestServer } from '../server-fixture.ts';
import { warningRows } from './warning-rows-fixture.ts';

const JSON_BODY = { 'content-type': 'application/json' };

describe('warnings of built-in kinds', () => {
  let server: TestServer;

  before(async () => {
    server = await startWithAll();
  });

  for (const [index, { path, object, old, warnings }] of warningRows.entries())
    it(`${index}: ${path} ${object.metadata.name}${old === undefined ? '' : ', updated'}`, async () => {
      const place = `${path}/${object.metadata.name}`;
      if (old !== undefined) await server.send('POST', path, old, JSON_BODY);
      const answer =
        old === undefined
          ? await server.send('POST', `${path}?dryRun=All`, object, JSON_BODY)
          : await server.send('PUT', place, object, JSON_BODY);
      if (old !== undefined) await server.send('DELETE', place);
      assert.ok(answer.status < 300, answer.text);
      const headers = [answer.headers['warning'] ?? []].flat();
      assert.deepEqual(
        headers,
        warnings.map((text) => `299 - ${JSON.stringify(text)}`),
      );
    });

  it('an owner named twice alike is kept once', async () => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u' };
    const path = '/api/v1/namespaces/default/configmaps';
    const object = { metadata: { name: 'c', ownerReferences: [owner, { ...owner, name: 'b' }, owner] } };
    const answer = await server.send('POST', `${path}?dryRun=All`, object, JSON_BODY);
    assert.deepEqual(answer.body.metadata.ownerReferences, [owner, { ...owner, name: 'b' }]);
    assert.match(String(answer.headers['warning']), /contains duplicate entries; .* observed: u"$/);
  });

  it('the deletion of a job without a policy', async () => {
    const path = '/apis/batch/v1/namespaces/default/jobs';
    const container = { name: 'c', image: 'i' };
    const object = {
      metadata: { name: 'work' },
      spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } } },
    };
    await server.send('POST', path, object, JSON_BODY);
    const plain = await server.send('DELETE', `${path}/work?dryRun=All`);
    assert.match(
      String(plain.headers['warning']),
      /^299 - "child pods are preserved by default when jobs are deleted; /,
    );
    const decided = await server.send('DELETE', `${path}/work?dryRun=All&propagationPolicy=Background`);
    assert.equal(decided.headers['warning'], undefined);
  });
});
