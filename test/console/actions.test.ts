import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cluster } from '../../src/testing/index.ts';
import { build } from '../../tools/build.ts';
import { repositoryRoot } from '../../tools/repository.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser, skipBrowser } from './browser.ts';
import { accountWith, goTo } from './pod-world.ts';

const workload = (kind: string, image: string): string => `
apiVersion: apps/v1
kind: ${kind}
metadata: {name: web, namespace: default, annotations: {kubernetes.io/change-cause: "image ${image}"}}
spec:
  ${kind === 'DaemonSet' ? '' : 'replicas: 2'}
  ${kind === 'StatefulSet' ? 'serviceName: web' : ''}
  selector: {matchLabels: {app: ${kind.toLowerCase()}}}
  template:
    metadata: {labels: {app: ${kind.toLowerCase()}}}
    spec:
      serviceAccountName: runner
      containers: [{name: c, image: ${image}, envFrom: [{configMapRef: {name: settings, optional: true}}]}]
---`;

const AROUND = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: runner, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: runner, namespace: default}]
---
apiVersion: v1
kind: Service
metadata: {name: front, namespace: default}
spec: {selector: {app: deployment}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: door, namespace: default}
spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}]}}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: default}
spec:
  schedule: '0 3 1 1 *'
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: job:1}]}}}}
---`;

const own = (problems: readonly string[]): readonly string[] =>
  problems.filter((text) => !/ERR_NETWORK_CHANGED|the server responded with a status of (?:404|429)/.test(text));

test(
  'related objects are a graph of links, and users without the right to change an object are offered no action',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await Cluster.start({ clock: 'real', nodes: 2, unknownImages: 'run' });
    await cluster.apply(`${AROUND}${workload('Deployment', 'web:1')}`);
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/object/deployments.apps/default/web');
    const graph = page.getByRole('region', { name: 'Related objects' });
    const column = (name: string) => graph.getByRole('region', { name });
    await column('Routes').getByRole('link', { name: /^door/ }).waitFor();
    await column('Owners and services')
      .getByRole('link', { name: /^front/ })
      .waitFor();
    await column('What it owns and uses')
      .getByRole('link', { name: /^web-\w+, ReplicaSet/ })
      .waitFor();
    await column('What it owns and uses')
      .getByRole('link', { name: /^settings, ConfigMap/ })
      .waitFor();
    await column('Behind that')
      .getByRole('link', { name: /^ready, web-\w+-\w+, Pod/ })
      .nth(1)
      .waitFor();
    await column('Behind that')
      .getByRole('link', { name: /^view, ClusterRole/ })
      .waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await column('Behind that')
      .getByRole('link', { name: /^ready, web-/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /^Pod web-/ }).waitFor();
    await column('Owners and services')
      .getByRole('link', { name: /^web-\w+, ReplicaSet/ })
      .waitFor();
    await column('Routes')
      .getByRole('link', { name: /^web, Deployment/ })
      .waitFor();
    await column('What it owns and uses')
      .getByRole('link', { name: /^node-\d, Node/ })
      .waitFor();
    assert.deepEqual(own(problems), []);

    const { url, token } = await accountWith(cluster, 'view');
    await using other = await openBrowser();
    await other.page.goto(url);
    await other.page.getByLabel('Bearer token').fill(token);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    for (const [place, heading] of [
      ['deployments.apps/default/web', 'Deployment web'],
      ['cronjobs.batch/default/nightly', 'CronJob nightly'],
    ]) {
      await other.page.evaluate((hash) => (location.hash = hash), `#/object/${place}`);
      await other.page.getByRole('heading', { name: heading }).waitFor();
      await other.page.locator('.object-why').waitFor();
      assert.deepEqual(
        await other.page.getByRole('group', { name: 'What can be done' }).getByRole('button').allTextContents(),
        [],
      );
    }
  },
);

test(
  'workloads of each kind are rolled back to a revision, after the changes are shown',
  { skip: skipBrowser },
  async () => {
    await build(repositoryRoot);
    await using cluster = await Cluster.start({ clock: 'real', nodes: 2, unknownImages: 'run' });
    const kinds = { Deployment: 'deployments', StatefulSet: 'statefulsets', DaemonSet: 'daemonsets' };
    const all = (image: string): string =>
      Object.keys(kinds)
        .map((kind) => workload(kind, image))
        .join('');
    await cluster.apply(`${AROUND}${all('web:1')}`);
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await goTo(page, await cluster.console(), '#/object/deployments.apps/default/web');
    const dialog = page.getByRole('dialog');
    for (const [kind, resource] of Object.entries(kinds)) {
      await cluster.eventually(async () => {
        const { body } = await cluster.client.raw({ path: `/apis/apps/v1/namespaces/default/${resource}/web` });
        const { metadata, status } = JSON.parse(Buffer.from(body).toString()) as {
          metadata: { generation: number };
          status?: { observedGeneration?: number };
        };
        assert.equal(status?.observedGeneration, metadata.generation);
      });
      await cluster.apply(workload(kind, 'web:2'));
      await page.evaluate((hash) => (location.hash = hash), `#/object/${resource}.apps/default/web`);
      await page.getByRole('heading', { name: `${kind} web` }).waitFor();
      await cluster.eventually(async () => {
        const { body } = await cluster.client.raw({ path: `/apis/apps/v1/namespaces/default/${resource}/web` });
        const { metadata, status } = JSON.parse(Buffer.from(body).toString()) as {
          metadata: { generation: number };
          status?: { observedGeneration?: number };
        };
        assert.equal(status?.observedGeneration, metadata.generation);
      });
      await page.getByRole('button', { name: 'Roll back' }).click();
      await dialog.getByText('Revision 2').waitFor();
      await dialog.locator('del', { hasText: 'web:2' }).waitFor();
      await dialog.locator('ins', { hasText: 'web:1' }).waitFor();
      await dialog.getByText(`kubectl rollout undo ${kind.toLowerCase()}/web -n default --to-revision=1`).waitFor();
      if (kind === 'Deployment') assert.deepEqual(await accessibilityProblems(page), []);
      await dialog.getByRole('button', { name: 'Roll back' }).click();
      await dialog.waitFor({ state: 'detached' });
      const { body } = await cluster.client.raw({ path: `/apis/apps/v1/namespaces/default/${resource}/web` });
      const { spec } = JSON.parse(Buffer.from(body).toString()) as {
        spec: { template: { metadata: { labels: object }; spec: { containers: { image: string }[] } } };
      };
      assert.equal(spec.template.spec.containers[0]?.image, 'web:1');
      assert.deepEqual(spec.template.metadata.labels, { app: kind.toLowerCase() });
    }
    await page.evaluate(() => (location.hash = '#/object/cronjobs.batch/default/nightly'));
    await page.getByRole('button', { name: 'Run now' }).click();
    await dialog.getByText(/kubectl create job nightly-manual-\w{5} --from=cronjob\/nightly -n default/).waitFor();
    await dialog.getByRole('textbox').fill('extra');
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('heading', { name: 'Job extra' }).waitFor();
    await page.getByText('CronJob nightly').first().waitFor();
    assert.deepEqual(own(problems), []);
  },
);

test('a node is drained as disruption budgets allow, and their messages are shown', { skip: skipBrowser }, async () => {
  await build(repositoryRoot);
  await using cluster = await Cluster.start({ clock: 'real', nodes: 1, unknownImages: 'run' });
  await cluster.apply(`${AROUND}${workload('Deployment', 'web:1')}${workload('DaemonSet', 'agent:1')}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep, namespace: default}
spec: {minAvailable: 2, selector: {matchLabels: {app: deployment}}}
---
apiVersion: v1
kind: Pod
metadata: {name: lonely, namespace: default}
spec: {containers: [{name: c, image: web:1}], volumes: [{name: scratch, emptyDir: {}}]}
`);
  await using browser = await openBrowser();
  const { page, problems } = browser;
  await goTo(page, await cluster.console(), '#/object/nodes/-/node-1');
  await page.getByRole('heading', { name: 'Pods (4)' }).waitFor();
  await cluster.eventually(async () => {
    const { body } = await cluster.client.raw({ path: '/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep' });
    const { status } = JSON.parse(Buffer.from(body).toString()) as { status?: { currentHealthy?: number } };
    assert.equal(status?.currentHealthy, 2);
  });
  await page.getByRole('button', { name: 'Drain', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('stays: its DaemonSet would bring it back').waitFor();
  await dialog.getByText('1 pod would be left without that').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Drain' }).isDisabled());
  await dialog.getByLabel('Evict 1 pod that no controller brings back').check();
  await dialog.getByLabel('Delete the data in emptyDir volumes of 1 pod').check();
  await dialog.getByText('kubectl drain node-1 --ignore-daemonsets --delete-emptydir-data --force').waitFor();
  assert.deepEqual(await accessibilityProblems(page), []);
  await dialog.getByRole('button', { name: 'Drain' }).click();
  const line = (name: RegExp) => dialog.getByRole('listitem').filter({ hasText: name });
  await line(/lonely/)
    .getByText('gone')
    .waitFor({ timeout: 60_000 });
  await line(/web-/)
    .getByText(/refused for now, asked again:.*disruption budget.*keep/)
    .first()
    .waitFor();
  await cluster.client.raw({ method: 'DELETE', path: '/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep' });
  await dialog.getByText('The node is drained.').waitFor({ timeout: 90_000 });
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Uncordon' }).waitFor();
  assert.deepEqual(own(problems), []);
});
