/**
 * HelmCharts of a real cluster: from the object, a file and a repository; changed, failing, repaired and removed; also by the pod
 * of a job.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { helmProgram } from '../../tools/kubectl.ts';
import { images, keelson, startCluster, type TestCluster } from './cluster-fixture.ts';
import { until } from './fixtures/until.ts';

const TEMPLATES = {
  'templates/facts.yaml': `apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }}-facts }
data:
  color: {{ .Values.color | quote }}
  size: {{ .Values.size | quote }}
  text: {{ .Values.text | quote }}
  revision: {{ .Release.Revision | quote }}
  me: {{ (lookup "v1" "Namespace" "" "kube-system").metadata.name | quote }}
{{- if .Values.broken }}{{ fail "the chart is broken" }}{{ end }}
`,
  // A kind that the server refuses: the release exists with the status failed.
  'templates/refused.yaml': `{{ if .Values.refused }}
apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }}-refused }
spec: { ports: [{ port: 99999 }] }
{{ end }}
`,
};

describe('HelmCharts', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'keelson-helm-charts-'));
  let cluster: TestCluster;
  let repository: Server;
  let repositoryUrl: string;
  const asked: (string | undefined)[] = [];

  const pack = (version: string): string => {
    const files = {
      'Chart.yaml': `apiVersion: v2\nname: shop\nversion: ${version}\n`,
      'values.yaml': 'color: red\n',
      ...TEMPLATES,
    };
    const folder = join(scratch, version);
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, 'shop', name)), { recursive: true });
      writeFileSync(join(folder, 'shop', name), text);
    }
    execFileSync('tar', ['czf', join(scratch, `shop-${version}.tgz`), '-C', folder, 'shop']);
    return join(scratch, `shop-${version}.tgz`);
  };
  const content = (version: string): string => readFileSync(pack(version)).toString('base64');
  const chart = (name: string, spec: object): object => ({
    apiVersion: 'helm.cattle.io/v1',
    kind: 'HelmChart',
    metadata: { name, namespace: 'kube-system' },
    spec,
  });
  const write = (name: string, ...objects: object[]): void =>
    writeFileSync(
      join(cluster.dataDir, 'manifests', name),
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
    );
  const fact = async (name: string, key: string, namespace = 'kube-system'): Promise<string> => {
    const path = `jsonpath={.data.${key}}`;
    const { code, stdout } = await cluster.outcome(['get', 'cm', `${name}-facts`, '-n', namespace, '-o', path]);
    return code === 0 ? stdout : 'gone';
  };
  const becomes = (name: string, key: string, expected: string, namespace?: string): Promise<unknown> =>
    until(`${key} of ${name} is ${expected}`, async () => {
      const found = await fact(name, key, namespace);
      if (found === expected) return true;
      throw new Error(`${found}; ${await cluster.kubectl('get helmcharts -A -o yaml')}`);
    });
  const failedCondition = async (name: string): Promise<string> => {
    const path = 'jsonpath={.status.conditions[?(@.type=="Failed")]}';
    return await cluster.kubectl(['get', 'helmchart', name, '-n', 'kube-system', '-o', path]);
  };

  /** Waits for the condition Failed and compares its message. */
  const fails = (name: string, expected: RegExp): Promise<unknown> =>
    until(`${name} fails with ${expected}`, async () => {
      const found = await failedCondition(name);
      if (expected.test(found)) return true;
      throw new Error(found);
    });

  before(async () => {
    // The user that helm runs as may lack access to the folder of the checkout.
    chmodSync(scratch, 0o755);
    copyFileSync(helmProgram(), join(scratch, 'helm'));
    chmodSync(join(scratch, 'helm'), 0o755);
    repository = createServer((request, response) => {
      asked.push(request.headers.authorization);
      const archive = readFileSync(pack('1.2.0'));
      const digest = createHash('sha256').update(archive).digest('hex');
      if (request.url === '/charts/index.yaml')
        response.end(
          `apiVersion: v1\nentries: {shop: [{name: shop, version: 1.2.0, urls: [shop-1.2.0.tgz], digest: ${digest}}]}\n`,
        );
      else if (request.url === '/charts/shop-1.2.0.tgz') response.end(archive);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => void repository.listen(0, '127.0.0.1', resolve));
    repositoryUrl = `http://127.0.0.1:${(repository.address() as AddressInfo).port}/charts`;
    cluster = await startCluster({ images: true, flags: ['--helm-program', join(scratch, 'helm')] });
  });
  after(async () => {
    await cluster?.stop();
    repository?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  test('the kinds exist once they are enabled', async () => {
    assert.notEqual((await cluster.outcome('get helmcharts')).code, 0);
    assert.match((await keelson(['addons', 'ls', '--data-dir', cluster.dataDir])).stdout, /^helm +available/m);
    assert.equal((await keelson(['addons', 'enable', 'helm', '--data-dir', cluster.dataDir])).code, 0);
    await until('HelmCharts are served', async () => (await cluster.outcome('get helmcharts')).code === 0);
  });

  test('a chart in a file of manifests is installed, with its job and events, and its temporary rights are removed', async () => {
    write(
      'web.json',
      chart('web', { chartContent: content('1.0.0'), set: { size: 3, text: 'a,b' }, valuesContent: 'color: blue\n' }),
    );
    await becomes('web', 'color', 'blue');
    assert.deepEqual(
      [await fact('web', 'size'), await fact('web', 'text'), await fact('web', 'me')],
      ['3', 'a,b', 'kube-system'],
    );
    await cluster.kubectl('wait --for=condition=complete job/helm-install-web -n kube-system --timeout=60s');
    await until('the events', async () => {
      const found = await cluster.kubectl([
        'get',
        'events',
        '-n',
        'kube-system',
        '-o',
        'jsonpath={.items[?(@.involvedObject.kind=="HelmChart")].message}',
      ]);
      return found.includes('Applying HelmChart from inline spec.chartContent using Job kube-system/helm-install-web');
    });
    assert.match(await cluster.kubectl('get helmchart web -n kube-system'), /False/);
    await until(
      'the binding goes',
      async () => (await cluster.outcome('get clusterrolebinding helm-kube-system-web')).code !== 0,
    );
    assert.deepEqual(readdirSync(`/run/keelson/${cluster.hash}/helm`), []);
  });

  test('values of a HelmChartConfig and of a Secret upgrade it; so does a later change of the Secret', async () => {
    const secret = (text: string): object => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop-values', namespace: 'kube-system' },
      stringData: { 'values.yaml': `color: ${text}\n` },
    });
    await cluster.apply(secret('green'));
    await cluster.apply({
      apiVersion: 'helm.cattle.io/v1',
      kind: 'HelmChartConfig',
      metadata: { name: 'web', namespace: 'kube-system' },
      spec: { valuesSecrets: [{ name: 'shop-values', keys: ['values.yaml'] }] },
    });
    await becomes('web', 'color', 'green');
    assert.equal(await fact('web', 'revision'), '2');
    await cluster.apply(secret('yellow'));
    await becomes('web', 'color', 'yellow');
    assert.equal(await fact('web', 'revision'), '3');
  });

  test('a repository on loopback with a password, and a namespace that helm creates', async () => {
    await cluster.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'shop-auth', namespace: 'kube-system' },
      type: 'kubernetes.io/basic-auth',
      stringData: { username: 'me', password: 'se cret' },
    });
    await cluster.apply(
      chart('far', {
        repo: repositoryUrl,
        chart: 'shop',
        version: '1.2.0',
        targetNamespace: 'shops',
        createNamespace: true,
        authSecret: { name: 'shop-auth' },
      }),
    );
    await becomes('far', 'color', 'red', 'shops');
    assert.ok(asked.includes(`Basic ${Buffer.from('me:se cret').toString('base64')}`));
  });

  test('a file in the charts folder', async () => {
    copyFileSync(pack('1.1.0'), join(cluster.dataDir, 'charts', 'shop-1.1.0.tgz'));
    await cluster.apply(chart('near', { chart: 'https://%{KUBERNETES_API}%/static/charts/shop-1.1.0.tgz' }));
    await becomes('near', 'color', 'red');
    await cluster.apply(chart('astray', { chart: '../../etc/passwd' }));
    await fails('astray', /neither a URL/);
    await cluster.kubectl('delete helmchart astray -n kube-system --timeout=60s');
  });

  test('a chart that fails reports that in its condition, and is installed again after a change', async () => {
    const bad = { chartContent: content('1.0.0'), backOffLimit: 0 };
    await cluster.apply(chart('bad', { ...bad, set: { refused: 'true' } }));
    await fails('bad', /99999.*"Job failed"/);
    await cluster.kubectl('wait --for=condition=failed job/helm-install-bad -n kube-system --timeout=60s');
    await cluster.apply(chart('bad', { ...bad, set: { refused: 'false' } }));
    await becomes('bad', 'color', 'red');
    await until('the condition is gone', async () => /"status":"False"/.test(await failedCondition('bad')));
  });

  test('a failed chart whose policy is abort is not retried until its administrator acts', async () => {
    const spec = { chartContent: content('1.0.0'), backOffLimit: 0, failurePolicy: 'abort' };
    await cluster.apply(chart('held', { ...spec, set: { refused: 'true' } }));
    await fails('held', /99999/);
    await cluster.apply(chart('held', { ...spec, set: { refused: 'false' } }));
    await fails('held', /failure policy is 'abort'/);
    assert.equal((await cluster.outcome('get service held-refused -n kube-system')).code, 1);
  });

  test('a chart that runs in this process refuses the settings of a pod', async () => {
    await cluster.apply(chart('odd', { chartContent: content('1.0.0'), securityContext: { runAsUser: 5 } }));
    await fails('odd', /spec\.securityContext is for the pod of a job/);
    await cluster.kubectl('delete helmchart odd -n kube-system --timeout=60s');
  });

  test('a chart with a job image runs as the pod of a job, with the arguments of klipper-helm', async () => {
    await cluster.apply(
      chart('pod', {
        chartContent: content('1.0.0'),
        valuesContent: 'color: pink\n',
        jobImage: images.test,
        securityContext: { runAsUser: 65534 },
      }),
    );
    const found = await until('the pod', async () => {
      const text = await cluster.kubectl('get pods -n kube-system -l helmcharts.helm.cattle.io/chart=pod -o json');
      return (
        JSON.parse(text) as {
          items: { spec: { containers: { env: { name: string; value?: string }[]; args: string[] }[] } }[];
        }
      ).items[0];
    });
    const [container] = found.spec.containers;
    assert.deepEqual(container?.args, ['install']);
    assert.equal(container?.env.find(({ name }) => name === 'NAME')?.value, 'pod');
    const values = await cluster.kubectl([
      'get',
      'secret',
      'chart-values-pod',
      '-n',
      'kube-system',
      '-o',
      'jsonpath={.data}',
    ]);
    assert.deepEqual(Object.keys(JSON.parse(values) as object), ['values-0-000-HelmChart-ValuesContent.yaml']);
  });

  test('a deleted chart is uninstalled with all its objects; so are all charts when the addon is disabled', async () => {
    rmSync(join(cluster.dataDir, 'manifests/web.json'));
    await becomesGone('web');
    for (const kind of ['helmchart/web', 'sa/helm-web', 'job/helm-install-web', 'job/helm-delete-web'])
      await until(
        `${kind} is gone`,
        async () => (await cluster.outcome(['get', kind, '-n', 'kube-system'])).code !== 0,
      );
    await cluster.kubectl('annotate helmchart pod -n kube-system helmcharts.helm.cattle.io/unmanaged=true');
    await cluster.kubectl('patch helmchart pod -n kube-system --type=merge -p {"metadata":{"finalizers":null}}');
    assert.equal((await keelson(['addons', 'disable', 'helm', '--data-dir', cluster.dataDir])).code, 0);
    await until('far is gone', async () => (await fact('far', 'color', 'shops')) === 'gone');
    await until(
      'the kinds are gone',
      async () => (await cluster.outcome('get crd helmcharts.helm.cattle.io')).code !== 0,
    );
  });
  async function becomesGone(name: string): Promise<void> {
    await until(`${name} is gone`, async () => (await fact(name, 'color')) === 'gone');
  }
});
