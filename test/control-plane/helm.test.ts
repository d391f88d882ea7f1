/** helm with a whole control plane: a chart with a CRD, hooks and lookups is installed, changed, rolled back and removed. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Deployment } from '../../src/api/gen/apps-v1.ts';
import { ConfigMaps, CustomResourceDefinitions, Deployments, Secrets, Services } from '../../src/api/gen/resources.ts';
import { helmProgram } from '../../tools/kubectl.ts';
import { startControlPlane, type ControlPlaneFixture, type Said } from './control-plane-fixture.ts';

const CHART = {
  'Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 0.1.0\nappVersion: "1"\n',
  'values.yaml': 'replicas: 1\nimage: web:1\n',
  'crds/price.yaml': `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: prices.shop.example }
spec:
  group: shop.example
  scope: Namespaced
  names: { plural: prices, singular: price, kind: Price }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties: { spec: { type: object, properties: { cents: { type: integer, minimum: 1 } } } }
`,
  'templates/web.yaml': `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  labels: { app.kubernetes.io/managed-by: {{ .Release.Service }} }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: {{ .Values.image | quote }} }] }
---
apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }}-web }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
---
{{- if .Capabilities.APIVersions.Has "autoscaling/v2" }}
apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }}-facts }
data:
  version: {{ .Capabilities.KubeVersion.Minor | quote }}
  namespaceUid: {{ (lookup "v1" "Namespace" "" .Release.Namespace).metadata.uid | quote }}
{{- end }}
---
apiVersion: shop.example/v1
kind: Price
metadata: { name: {{ .Release.Name }} }
spec: { cents: 100 }
`,
  'templates/hook.yaml': `
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-before
  annotations: { helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation }
data: { revision: {{ .Release.Revision | quote }} }
`,
};

describe('helm', () => {
  let plane: ControlPlaneFixture;
  let folder: string;

  before(async () => {
    plane = await startControlPlane();
    folder = mkdtempSync(join(tmpdir(), 'keelson-helm-'));
    for (const [name, text] of Object.entries(CHART)) {
      const path = join(folder, 'shop', name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  });
  after(async () => {
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs helm as the administrator, with its own home directory. */
  function helm(...args: string[]): Promise<Said> {
    const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: plane.kubeconfig };
    return new Promise((resolve) => {
      execFile(helmProgram(), args, { env, cwd: folder, timeout: 240_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : 1, stdout, stderr });
      });
    });
  }
  async function must(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await helm(...args);
    assert.equal(code, 0, `helm ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  }
  const web = (): Promise<Deployment> =>
    plane.admin.resource(Deployments).get({ namespace: 'sales', name: 'spring-web' });
  const facts = (name: string) => plane.admin.resource(ConfigMaps).get({ namespace: 'sales', name });

  it("installs the CRD first, then hook and objects, with values from the server's discovery", async () => {
    const namespace = await plane.kubectl(['create', 'namespace', 'sales']);
    assert.equal(namespace.code, 0, namespace.stderr);
    await must('install', 'spring', 'shop', '--namespace', 'sales');
    assert.equal((await web()).spec?.replicas, 1);
    const { data } = await facts('spring-facts');
    assert.equal(data?.['version'], '36');
    assert.match(data?.['namespaceUid'] ?? '', /^[0-9a-f-]{36}$/);
    assert.equal((await facts('spring-before')).data?.['revision'], '1');
    const price = await plane.kubectl(['get', 'price', 'spring', '-n', 'sales', '-o', 'jsonpath={.spec.cents}']);
    assert.equal(price.stdout, '100', price.stderr);
    const [release] = JSON.parse(await must('list', '--namespace', 'sales', '--output', 'json')) as {
      status: string;
    }[];
    assert.equal(release?.status, 'deployed');
  });

  it('tries a change as a dry run on the server', async () => {
    const change = ['upgrade', 'spring', 'shop', '--namespace', 'sales', '--set', 'replicas=9', '--dry-run=server'];
    assert.match(await must(...change), /replicas: 9\n/);
    assert.equal((await web()).spec?.replicas, 1);
  });

  it('upgrades what changed and leaves fields of other managers', async () => {
    const annotate = ['annotate', 'deployment/spring-web', '-n', 'sales', 'owner=people'];
    assert.equal((await plane.kubectl(annotate)).code, 0);
    await must('upgrade', 'spring', 'shop', '--namespace', 'sales', '--set', 'replicas=3', '--set', 'image=web:2');
    const { spec, metadata } = await web();
    assert.deepEqual([spec?.replicas, spec?.template.spec?.containers?.[0]?.image], [3, 'web:2']);
    assert.equal(metadata.annotations?.['owner'], 'people');
    assert.equal((await facts('spring-before')).data?.['revision'], '2');
  });

  it("fails for what the custom resource's schema refuses", async () => {
    writeFileSync(
      join(folder, 'shop/templates/bad.yaml'),
      'apiVersion: shop.example/v1\nkind: Price\nmetadata: { name: bad }\nspec: { cents: 0 }\n',
    );
    const refused = await helm('upgrade', 'spring', 'shop', '--namespace', 'sales');
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /spec\.cents: Invalid value: 0: spec\.cents in body should be greater than or equal to 1/,
    );
    rmSync(join(folder, 'shop/templates/bad.yaml'));
  });

  it('rolls back, and lists its history', async () => {
    await must('rollback', 'spring', '1', '--namespace', 'sales');
    const { spec } = await web();
    assert.deepEqual([spec?.replicas, spec?.template.spec?.containers?.[0]?.image], [1, 'web:1']);
    const history = JSON.parse(await must('history', 'spring', '--namespace', 'sales', '--output', 'json')) as {
      status: string;
    }[];
    assert.deepEqual(
      history.map(({ status }) => status),
      ['superseded', 'superseded', 'failed', 'deployed'],
    );
  });

  it('uninstalls everything except the CRD and the hook', async () => {
    await must('uninstall', 'spring', '--namespace', 'sales', '--wait');
    assert.deepEqual((await plane.admin.resource(Deployments).list({ namespace: 'sales' })).items, []);
    assert.deepEqual((await plane.admin.resource(Services).list({ namespace: 'sales' })).items, []);
    const secrets = (await plane.admin.resource(Secrets).list({ namespace: 'sales' })).items;
    assert.deepEqual(
      secrets.filter(({ type }) => type === 'helm.sh/release.v1'),
      [],
    );
    assert.equal((await plane.admin.resource(CustomResourceDefinitions).list()).items.length, 1);
  });
});
