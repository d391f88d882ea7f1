import assert from 'node:assert/strict';
import { test } from 'node:test';

import { dataDirectory, kubeconfigPath } from './cluster.ts';
import { contains, demoObjects } from './demo.ts';
import { DEMO_IMAGE_NAME } from '../demo-image.ts';
import { apply, collectionPath, type Answer, type ApiObject, type KubeClient, type Question } from './kube-client.ts';
import { closingText, phaseTable, readSetup } from './summary.ts';
import { waitFor } from './wait.ts';

test("the data directory is the one of keelson up's arguments", () => {
  assert.equal(dataDirectory([]), '/var/lib/keelson');
  assert.equal(dataDirectory(['--https-port', '7443', '--data-dir', '/srv/k']), '/srv/k');
  assert.equal(dataDirectory(['--data-dir=/srv/k']), '/srv/k');
  assert.equal(kubeconfigPath('/srv/k'), '/srv/k/admin.kubeconfig');
});

test('the manifest of the demo runs the image that is built', () => {
  const [deployment, service] = demoObjects();
  assert.deepEqual([deployment?.kind, service?.kind], ['Deployment', 'Service']);
  assert.match(JSON.stringify(deployment), new RegExp(`"image":"${DEMO_IMAGE_NAME}"`));
  assert.equal(collectionPath(deployment!), '/apis/apps/v1/namespaces/default/deployments');
  assert.equal(collectionPath(service!), '/api/v1/namespaces/default/services');
});

test('an object with defaults contains the manifest it was created from', () => {
  const cases: [unknown, unknown, boolean][] = [
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 2 }, false],
    [{ a: [{ x: 1, y: 2 }] }, { a: [{ x: 1 }] }, true],
    [{ a: [{ x: 1 }, { x: 2 }] }, { a: [{ x: 1 }] }, false],
    [{}, { a: {} }, false],
    [{ a: null }, { a: { b: 1 } }, false],
    [undefined, 1, false],
  ];
  for (const [actual, wanted, expected] of cases)
    assert.equal(contains(actual, wanted), expected, JSON.stringify([actual, wanted]));
});

function clientAnswering(answers: Record<string, Answer>): { client: KubeClient; asked: string[] } {
  const asked: string[] = [];
  const send = async (path: string, { method = 'GET', contentType = '' }: Question = {}): Promise<Answer> => {
    asked.push(`${method} ${path} ${contentType}`.trim());
    return answers[method] ?? { status: 500, body: {} };
  };
  return { client: { server: 'https://x', send, close: () => {} }, asked };
}

test("apply creates or merges, or fails with the server's message", async () => {
  const object: ApiObject = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'demo' } };
  const created = clientAnswering({ POST: { status: 201, body: {} } });
  assert.equal(await apply(created.client, object), 'created');
  const present = clientAnswering({ POST: { status: 409, body: {} }, PATCH: { status: 200, body: {} } });
  assert.equal(await apply(present.client, object), 'configured');
  assert.deepEqual(present.asked, [
    'POST /api/v1/namespaces/default/services',
    'PATCH /api/v1/namespaces/default/services/demo application/merge-patch+json',
  ]);
  const refused = clientAnswering({ POST: { status: 422, body: { message: 'spec.ports: Required value' } } });
  await assert.rejects(
    apply(refused.client, object),
    /^Error: service\/demo was refused: spec\.ports: Required value$/,
  );
});

test('waiting ends with the result, or fails with what was awaited and the last error', async () => {
  let asked = 0;
  const answer = await waitFor(async () => (++asked === 3 ? 'yes' : undefined), {
    what: 'x',
    timeoutMs: 10_000,
    intervalMs: 0,
  });
  assert.deepEqual([answer, asked], ['yes', 3]);
  const failing = waitFor(() => Promise.reject(new Error('refused')), { what: 'a port', timeoutMs: 0 });
  await assert.rejects(failing, /^Error: timed out after 0 s waiting for a port: refused$/);
});

test('the table of phases includes those of the set-up', () => {
  const setup = readSetup(
    '{"durationMs":4000,"phases":[{"name":"Node.js","result":"v24.21.0 fetched","durationMs":3200},{"name":"Debian packages","result":"2 installed","durationMs":4000}]}',
  );
  assert.deepEqual(readSetup(undefined), { phases: [], durationMs: 0 });
  assert.deepEqual(phaseTable(setup, [{ name: 'build', result: '', durationMs: 40 }]).split('\n'), [
    '  Node.js             3.20 s  v24.21.0 fetched',
    '  Debian packages     4.00 s  2 installed',
    '  build               0.04 s  was done',
    '  total               4.04 s',
  ]);
});

test('the summary names another data directory in commands that need it', () => {
  const place = { kubeconfig: '/k', server: 'https://s', demoUrl: 'http://d/', demoText: 'Hello' };
  assert.doesNotMatch(closingText({ ...place, dataDir: '/var/lib/keelson' }), /--data-dir/);
  const text = closingText({ ...place, dataDir: '/srv/k' });
  assert.match(text, /bin\/keelson down --data-dir \/srv\/k/);
  assert.equal(text.match(/^ {2}(kubectl|curl) /gm)?.length, 5);
});
