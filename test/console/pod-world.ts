/** Pods whose containers write, end and respond, for tests of the pages of pods. */
import type { Locator, Page } from 'playwright-core';
import { Cluster } from '../../src/testing/index.ts';

/** Signs in and opens a place. */
export async function goTo(page: Page, link: string, place: string): Promise<void> {
  await openPage(page, link, page.locator('nav.menu a').first());
  await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
}

/**
 * Opens a page until it shows this; again when Chromium dropped the page's files, as it does when a link of the machine changes.
 */
export async function openPage(page: Page, url: string, shown: Locator): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      // A page that was not loaded can be requested again; one that was loaded may have used the code of its link.
      const options = { waitUntil: 'commit', timeout: 30_000 } as const;
      await (tries === 1 || page.url() === 'about:blank' ? page.goto(url, options) : page.reload(options));
      await shown.waitFor({ state: 'attached', timeout: 30_000 });
      return;
    } catch (error) {
      if (tries === 4) throw error;
    }
  }
}

/** The address of the console, and the token of a service account in `default` with the rights of a cluster role there. */
export async function accountWith(
  cluster: Cluster,
  role: string,
): Promise<{ readonly url: string; readonly token: string }> {
  const name = `only-${role}`;
  await cluster.apply(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: ${name}, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ${name}, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ${role}}
subjects: [{kind: ServiceAccount, name: ${name}, namespace: default}]
`);
  const { body } = await cluster.client.raw({
    method: 'POST',
    path: `/api/v1/namespaces/default/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  });
  const { status } = JSON.parse(Buffer.from(body).toString()) as { status: { token: string } };
  return { url: `${new URL(await cluster.console()).origin}/console/`, token: status.token };
}

const ESC = '\u001b';

/** Lines that would do harm if they were rendered as markup. */
export const HOSTILE = [
  '<img src=x onerror="alert(1)"><script>alert(2)</script>',
  `${ESC}[31mred${ESC}[0m ${ESC}[1;42mon green${ESC}[0m plain`,
  `${ESC}]8;;javascript:alert(3)${ESC}\\click${ESC}]8;;${ESC}\\`,
  `${ESC}[2J${ESC}[1;1Hcleared`,
  'nul \u0000 bell \u0007 rtl \u202egnp.exe',
  `wide 漢字 ${'e\u0301'.repeat(200)}`,
  `long ${'x'.repeat(50_000)} end`,
];

export async function startPodWorld(): Promise<Cluster> {
  const cluster = await Cluster.start({ clock: 'real', nodes: 2 });
  cluster.image('talker:1', {
    usage: { cpu: '150m', memory: '40Mi' },
    http: { status: 200, body: '<h1>hello</h1>', headers: { 'content-type': 'text/html' } },
    exec: { exitCode: 3, stdout: `hello ${ESC}[38;2;255;100;0mtrue${ESC}[0m ${ESC}[4:3;31mcurly${ESC}[0m\r\n$ ` },
    async run({ log, sleep, stopped }) {
      for (const line of HOSTILE) log(line);
      for (let tick = 1; !stopped.aborted; tick++) {
        log(`tick ${tick}`, tick % 2 === 0 ? 'stderr' : 'stdout');
        await sleep(200);
      }
      return 0;
    },
  });
  cluster.image('crasher:1', { logs: ['about to fail'], exits: { after: '1s', code: 3 } });
  cluster.image('prepare:1', { logs: ['prepared'], exits: { after: '100ms', code: 0 } });
  cluster.image('flood:1', {
    async run({ log, sleep, stopped }) {
      for (let line = 1; line <= 120_000; line++) log(`flood ${line}`);
      while (!stopped.aborted) await sleep(1000);
      return 0;
    },
  });
  await cluster.apply(`
apiVersion: v1
kind: Pod
metadata: {name: talk, namespace: default, labels: {app: talk}}
spec:
  initContainers: [{name: prepare, image: prepare:1}]
  containers:
    - name: main
      image: talker:1
      resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 1, memory: 128Mi}}
      ports: [{containerPort: 8080, name: http}]
      readinessProbe: {httpGet: {path: /ready, port: 8080}}
    - {name: side, image: crasher:1}
---
apiVersion: v1
kind: Pod
metadata: {name: flood, namespace: default}
spec: {containers: [{name: main, image: flood:1}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: talker:1}]}
`);
  return cluster;
}
