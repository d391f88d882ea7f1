/**
 * Views of the console on a real cluster: overview, lists, topology, time and charts, hostile texts, and users with few rights.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { images } from '../integration/cluster-fixture.ts';
import { accessibilityProblems } from './axe.ts';
import { openBrowser } from './browser.ts';
import { type RealWorld, show } from './real-world.ts';

const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>';

const around = (namespace: string): string => `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ${namespace}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: shut, namespace: ${namespace}}
spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress], ingress: []}
---
apiVersion: v1
kind: Pod
metadata:
  name: hostile
  namespace: ${namespace}
  labels: {app: hostile}
  annotations: {'example.com/note': '${HOSTILE}'}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: ${images.test}, command: [sh, -c, 'while :; do echo "${HOSTILE}"; sleep 1; done']}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: ${namespace}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: ${namespace}}
rules: [{apiGroups: [''], resources: [pods], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: ${namespace}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: ${namespace}}]
`;

export function viewFlows(world: () => RealWorld): void {
  test('the overview counts the objects, and each number links to its list', async () => {
    const { space, page } = world();
    await space.apply(around(space.namespace));
    await space.kubectl('wait --for=condition=Ready pod/hostile --timeout=120s');
    await show(page, '#/');
    await page.getByRole('region', { name: 'Components' }).getByText('scheduler').waitFor();
    await page.getByRole('region', { name: 'Nodes' }).getByRole('link', { name: 'Ready: 1' }).click();
    await page.getByText('1 object', { exact: true }).waitFor();
    assert.match(page.url(), /#\/list\/nodes/);
  });

  test('a list is filtered by words, label and field, sorted, and live', async () => {
    const { space, page } = world();
    await show(page, `#/list/pods?ns=${space.namespace}`);
    const rows = page.locator('.grid .row');
    await rows.getByText('hostile').waitFor();
    for (const filter of ['hosti', '-l app=hostile', '-f metadata.name=hostile']) {
      await page.getByLabel('Filter').fill(filter);
      await page.getByText(/^1 (?:of \d+ objects|object)$/).waitFor();
      await rows.getByText('hostile').waitFor();
    }
    await page.getByLabel('Filter').fill('');
    await page.locator('.grid .head').getByRole('button', { name: 'Age' }).click();
    await page.waitForURL(/sort=/);
    await space.kubectl(['run', 'comes', `--image=${images.test}`]);
    await rows.getByText('comes').waitFor();
    await space.kubectl('delete pod comes --grace-period=0 --force');
    await rows.getByText('comes').waitFor({ state: 'detached' });
  });

  test('hostile annotations and log lines are text', async () => {
    const { space, page } = world();
    page.on('dialog', (dialog) => assert.fail(`the page ran: ${dialog.message()}`));
    await show(page, `#/object/pods/${space.namespace}/hostile`);
    await page.locator('.object-facts').getByText(HOSTILE).waitFor();
    await show(page, `#/object/pods/${space.namespace}/hostile?tab=yaml`);
    await page.locator('.object-yaml').getByText(HOSTILE).first().waitFor();
    await show(page, `#/logs/pods/${space.namespace}/hostile`);
    await page.locator('.logs-pane').getByText(HOSTILE).first().waitFor();
    assert.equal(await page.locator('#content img, #content script').count(), 0);
  });

  test('topology: the node and its tiles, services to pods, and the effect of a policy', async () => {
    const { space, page } = world();
    await show(page, `#/topology/nodes?ns=${space.namespace}`);
    await page
      .getByRole('list', { name: 'What the tiles mean' })
      .getByText(/ready \d/)
      .waitFor();
    await show(page, `#/topology/services?ns=${space.namespace}`);
    const services = page.getByRole('region', { name: 'Services and the pods behind them' });
    await services
      .getByRole('link', { name: /^ready, web-/ })
      .first()
      .waitFor();
    const name = (await space.kubectl('get pods -l app=web -o jsonpath={.items[0].metadata.name}')).trim();
    const pair = (from: string, to: string): string =>
      `from=${encodeURIComponent(`${space.namespace}/${from}`)}&to=${encodeURIComponent(`${space.namespace}/${to}`)}`;
    await show(page, `#/topology/policies?ns=${space.namespace}&${pair('hostile', name)}`);
    await page.getByText('Nothing passes.').waitFor();
    await page.getByRole('link', { name: 'shut' }).first().waitFor();
    await show(page, `#/topology/policies?ns=${space.namespace}&${pair(name, 'hostile')}`);
    await page.getByText('Nothing passes.').waitFor({ state: 'detached' });
    await space.kubectl('delete networkpolicy shut');
  });

  test('time: a list and an object at a past moment, and back to the present', async () => {
    const { space, page } = world();
    await space.kubectl('create configmap moment --from-literal=turn=first');
    await space.until('the history has it', async () => {
      const text = await space.kubectl([
        'get',
        '--raw',
        `/keelson/v1/history/api/v1/namespaces/${space.namespace}/configmaps/moment`,
      ]);
      return text.includes('"created"') || text.includes('revision');
    });
    await new Promise((resolve) => setTimeout(resolve, 2000)); // moments are whole seconds
    const at = encodeURIComponent(new Date().toISOString());
    await new Promise((resolve) => setTimeout(resolve, 2000));
    await space.kubectl(['patch', 'configmap', 'moment', '--type=merge', '-p', '{"data":{"turn":"second"}}']);
    await show(page, `#/object/configmaps/${space.namespace}/moment?tab=yaml&at=${at}`);
    await page.locator('.object-yaml').getByText('first').waitFor();
    await page.getByRole('button', { name: 'Live' }).click();
    await page.locator('.object-yaml').getByText('second').waitFor();
    await show(page, `#/object/configmaps/${space.namespace}/moment?tab=history`);
    await page.getByText('data.turn', { exact: true }).first().waitFor();
    await space.kubectl('delete configmap moment');
    await show(page, `#/list/configmaps?ns=${space.namespace}&at=${at}`);
    await page.locator('.grid .row').getByText('moment').waitFor();
    await page.keyboard.press('T');
    await page.getByRole('button', { name: 'Live' }).click();
    await page.locator('.grid .row').getByText('moment').waitFor({ state: 'detached' });
  });

  test('charts of real resource use, and of the API', async () => {
    const { space, page } = world();
    await show(page, `#/charts/pods?ns=${space.namespace}`);
    const memory = page.getByRole('region', { name: 'Memory', exact: true });
    await memory
      .getByText(/\d [KMG]iB/)
      .first()
      .waitFor({ timeout: 90_000 });
    await show(page, '#/charts/api');
    await page.getByRole('region', { name: 'Requests', exact: true }).getByText('reads').waitFor({ timeout: 90_000 });
    assert.deepEqual(await accessibilityProblems(page), []);
  });

  test('a user with rights to the pods of one namespace sees them and nothing else', async () => {
    const { space, page } = world();
    const token = (await space.kubectl('create token reader')).trim();
    await using other = await openBrowser({ width: 320, height: 640 });
    await other.page.goto(`${new URL(page.url()).origin}/console/`);
    await other.page.getByLabel('Bearer token').fill(token);
    await other.page.getByRole('button', { name: 'Sign in' }).click();
    await other.page.getByLabel('Namespace').fill(space.namespace);
    await other.page.keyboard.press('Enter');
    await show(other.page, `#/list/pods?ns=${space.namespace}`);
    await other.page.locator('.grid .row').getByText('hostile').waitFor();
    await show(other.page, `#/list/secrets?ns=${space.namespace}`);
    await other.page
      .getByText(/You may not list these here|There is no such/)
      .first()
      .waitFor();
    await show(other.page, `#/object/pods/${space.namespace}/hostile`);
    await other.page.locator('.object-facts').waitFor();
    assert.equal(await other.page.getByRole('button', { name: 'Delete' }).count(), 0);
    assert.equal(await other.page.getByRole('link', { name: /^Shell/ }).count(), 0);
  });

  test('ports of the pods’ bridge have no addresses, which would end the browser’s connections when added', async () => {
    const { cluster, space, problems } = world();
    await space.kubectl('delete pod hostile --grace-period=0 --force');
    const { readdirSync, readFileSync } = await import('node:fs');
    const ports = readdirSync(`/sys/class/net/kl${cluster.hash}/brif`);
    assert.ok(ports.length > 0);
    const addresses = readFileSync('/proc/net/if_inet6', 'utf8');
    assert.deepEqual(
      ports.filter((port) => new RegExp(`\\s${port}$`, 'm').test(addresses)),
      [],
    );
    assert.deepEqual(
      problems.filter((text) => /request to|TypeError|Content Security/i.test(text)),
      [],
    );
  });
}
