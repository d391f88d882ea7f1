/** resource.k8s.io/v1beta1 is defaulted and validated as v1 is, though its objects have another form. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startWithAll } from '../../all-resources-fixture.ts';

const GROUP = '/apis/resource.k8s.io/v1beta1';
const start = async () => {
  const { send } = await startWithAll([], 'resource.k8s.io/v1beta1=true');
  return async (method: string, path: string, body?: object) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    return await send(method, path, body, { 'content-type': type });
  };
};
const claim = (request: object): object => ({
  metadata: { name: 'c' },
  spec: { devices: { requests: [{ name: 'r', ...request }] } },
});
const slice = (basic: object, spec: object = {}): object => ({
  metadata: { name: 's' },
  spec: {
    driver: 'd.example.com',
    nodeName: 'n',
    pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
    devices: [{ name: 'a', basic }],
    ...spec,
  },
});

describe('v1beta1 refuses what v1 refuses', () => {
  const claims = `${GROUP}/namespaces/default/resourceclaims`;
  const templates = `${GROUP}/namespaces/default/resourceclaimtemplates`;
  const slices = `${GROUP}/resourceslices`;
  const { spec } = claim({ deviceClassName: 'gpu', allocationMode: 'Some' }) as { spec: object };
  const cases: [what: string, path: string, body: object, says: RegExp][] = [
    [
      'a mode that does not exist',
      claims,
      claim({ deviceClassName: 'gpu', allocationMode: 'Some' }),
      /allocationMode: /,
    ],
    ['a request without a class', claims, claim({ count: 1 }), /deviceClassName: Required value/],
    ['such a claim in a template', templates, { metadata: { name: 't' }, spec: { spec } }, /allocationMode: /],
    ['a slice of no node', slices, slice({}, { nodeName: '' }), /nodeName/],
    ['an attribute of no type', slices, slice({ attributes: { a: {} } }), /attributes\[a\]: /],
  ];
  for (const [what, path, body, says] of cases)
    it(what, async () => {
      const ask = await start();
      const answer = await ask('POST', path, body);
      assert.equal(answer.status, 422, answer.text);
      assert.match(answer.body.message, says);
    });

  it('and sets the defaults of v1, in its own form', async () => {
    const ask = await start();
    const made = await ask('POST', claims, claim({ deviceClassName: 'gpu' }));
    assert.equal(made.status, 201, made.text);
    assert.deepEqual(
      [made.body.apiVersion, made.body.spec.devices.requests],
      ['resource.k8s.io/v1beta1', [{ name: 'r', deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 }]],
    );
    const stored = await ask('GET', claims.replace('v1beta1', 'v1') + '/c');
    const exactly = { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 };
    assert.deepEqual(stored.body.spec.devices.requests, [{ name: 'r', exactly }]);
  });

  it('a claim stays as it is', async () => {
    const ask = await start();
    await ask('POST', claims, claim({ deviceClassName: 'gpu' }));
    const other = { spec: { devices: { requests: [{ name: 'r', deviceClassName: 'other' }] } } };
    const answer = await ask('PATCH', `${claims}/c`, other);
    assert.equal(answer.status, 422, answer.text);
    assert.match(answer.body.message, /spec: Invalid value: .*field is immutable/);
  });

  it('nor does its status name pods twice', async () => {
    const ask = await start();
    await ask('POST', claims, claim({ deviceClassName: 'gpu' }));
    const pod = { resource: 'pods', name: 'p', uid: 'u' };
    const answer = await ask('PATCH', `${claims}/c/status`, { status: { reservedFor: [pod, pod] } });
    assert.equal(answer.status, 422, answer.text);
  });
});
