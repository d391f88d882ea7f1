/** Applies every manifest in examples/ and checks its effect. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { repositoryRoot } from '../../tools/repository.ts';
import { images, startCluster, type TestCluster } from './cluster-fixture.ts';
import { fetchText } from './fixtures/traffic.ts';

const folder = join(repositoryRoot, 'examples');

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster?.stop());

async function url(service: string): Promise<string> {
  return `http://${await cluster.kubectl(`get service ${service} -o jsonpath={.spec.clusterIP}`)}/`;
}

async function answer(service: string): Promise<string> {
  const address = await url(service);
  return cluster.until(`an answer of ${service}`, () => fetchText(address));
}

/** The check of each example after it was applied. */
const checks: Record<string, () => Promise<void>> = {
  'demo.yaml': async () => {
    await cluster.kubectl('rollout status deployment/demo --timeout=120s');
    assert.match(await answer('demo'), /^Hello from demo-/);
  },
  'web-with-config.yaml': async () => {
    await cluster.kubectl('rollout status deployment/site --timeout=120s');
    assert.equal(await answer('site'), '<h1>Hello from a ConfigMap</h1>');
    await cluster.kubectl([
      'patch',
      'configmap',
      'site-pages',
      '--type=merge',
      '-p',
      '{"data":{"index.html":"changed"}}',
    ]);
    const address = await url('site');
    await cluster.until('the changed page', async () => (await fetchText(address)) === 'changed');
  },
  'one-shot-pod.yaml': async () => {
    await cluster.kubectl('wait --for=jsonpath={.status.phase}=Succeeded pod/report --timeout=120s');
    assert.equal(await cluster.kubectl('logs report'), 'sum 5050\n');
  },
  'sidecar.yaml': async () => {
    await cluster.kubectl('wait --for=condition=Ready pod/clock --timeout=120s');
    const address = await cluster.kubectl('get pod clock -o jsonpath={.status.podIP}');
    const first = await cluster.until('the time', () => fetchText(`http://${address}:8080/`));
    await cluster.until('a later time', async () => (await fetchText(`http://${address}:8080/`)) !== first);
  },
  'probes.yaml': async () => {
    await cluster.kubectl('rollout status deployment/probed --timeout=120s');
    assert.match(await answer('probed'), /^Hello from probed-/);
    await cluster.kubectl('exec deploy/probed -- rm /tmp/ready');
    await cluster.kubectl('wait --for=condition=Ready=false pod -l app=probed --timeout=120s');
    await cluster.kubectl('exec deploy/probed -- touch /tmp/ready');
    await cluster.kubectl('rollout status deployment/probed --timeout=120s');
  },
  'node-port.yaml': async () => {
    await cluster.kubectl('wait --for=condition=Ready pod/door --timeout=120s');
    const node = await cluster.kubectl([
      'get',
      'nodes',
      '-o',
      'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}',
    ]);
    await cluster.until(
      'an answer of the node port',
      async () => (await fetchText(`http://${node}:31080/`)) === 'Hello from door',
    );
  },
  'headless.yaml': async () => {
    await cluster.kubectl('wait --for=condition=Ready pod/db-0 pod/db-1 --timeout=120s');
    await cluster.kubectl(`run asker --image=${images.test} --restart=Never -- sleep 600`);
    await cluster.kubectl('wait --for=condition=Ready pod/asker --timeout=120s');
    const addressOf = (pod: string): Promise<string> => cluster.kubectl(`get pod ${pod} -o jsonpath={.status.podIP}`);
    const addresses = await Promise.all(['db-0', 'db-1'].map(addressOf));
    await cluster.until('both addresses by the name of the service', async () => {
      const text = await cluster.kubectl('exec asker -- getent ahostsv4 db');
      return addresses.every((address) => text.includes(address));
    });
    await cluster.until('one by its own name', async () =>
      (await cluster.kubectl('exec asker -- getent hosts db-1.db.default.svc.cluster.local')).startsWith(
        `${addresses[1]} `,
      ),
    );
    await cluster.kubectl('delete pod asker --now');
  },
  'secrets-and-facts.yaml': async () => {
    await cluster.kubectl('wait --for=condition=Ready pod/told --timeout=120s');
    const address = await cluster.kubectl('get pod told -o jsonpath={.status.podIP}');
    const said = `user ada, password s3cret, pod told at ${address}, memory 32 MiB\nlabels: app="told" tier="example" \n`;
    await cluster.until('what it says', async () => {
      assert.equal(await cluster.kubectl('logs told'), said);
      return true;
    });
  },
  'rbac.yaml': async () => {
    await cluster.kubectl('wait -n readers --for=condition=Ready pod/reading --timeout=120s');
    const may = async (what: string): Promise<string> =>
      (await cluster.outcome(`auth can-i ${what} --as system:serviceaccount:readers:reader -n readers`)).stdout.trim();
    assert.deepEqual(
      [await may('list pods'), await may('get pods/log'), await may('list secrets'), await may('delete pods')],
      ['yes', 'yes', 'no', 'no'],
    );
  },
  'server-side-apply.yaml': async () => {
    const file = join(folder, 'server-side-apply.yaml');
    await cluster.kubectl('delete configmap shared');
    await cluster.kubectl(`apply --server-side -f ${file}`);
    const other = JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'shared' },
      data: { color: 'red' },
    });
    const conflict = await cluster.outcome('apply --server-side --field-manager=other -f -', { input: other });
    assert.match(conflict.stderr, /conflict with "kubectl": \.data\.color/);
    await cluster.apply(other.replace('color', 'shape'), '--server-side', '--field-manager=other');
    assert.equal(
      await cluster.kubectl('get configmap shared -o jsonpath={.data}'),
      '{"color":"green","shape":"red","size":"3"}',
    );
  },
};

describe('examples', { concurrency: 4 }, () => {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.yaml'))) {
    it(file, async () => {
      assert.ok(checks[file], `no check for examples/${file}`);
      await cluster.kubectl(`apply -f ${join(folder, file)}`);
      await checks[file]();
      assert.match(await cluster.kubectl(`apply -f ${join(folder, file)}`), /(unchanged|configured)/, 'a second time');
      await cluster.kubectl(`delete -f ${join(folder, file)} --timeout=120s`);
    });
  }
});
