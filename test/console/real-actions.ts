/** Actions of the console on a real cluster: kubectl confirms the effect of each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { images } from '../integration/cluster-fixture.ts';
import { runAction, type RealWorld, show } from './real-world.ts';

const manifest = (namespace: string): string => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: deeds, namespace: ${namespace}}
spec:
  replicas: 1
  selector: {matchLabels: {app: deeds}}
  template:
    metadata: {labels: {app: deeds}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: c, image: ${images.test}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: ${namespace}}
spec:
  schedule: '0 3 1 1 *'
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: ${images.test}, command: ['true']}]}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: doomed, namespace: ${namespace}}
`;

export function actionFlows(world: () => RealWorld): void {
  const deployment = () => `deployments.apps/${world().space.namespace}/deeds`;
  const read = (what: string): Promise<string> => world().space.kubectl(`get ${what}`);

  test('a Deployment is scaled, paused, resumed and restarted, and real pods follow', async () => {
    const { space, page } = world();
    await space.apply(manifest(space.namespace));
    await space.kubectl('rollout status deployment/deeds --timeout=120s');
    const namespaced = `deployment/deeds -n ${space.namespace}`;
    await runAction(page, {
      place: deployment(),
      button: 'Scale',
      fill: '2',
      command: `kubectl scale ${namespaced} --replicas=2`,
    });
    await page.getByRole('heading', { name: 'Pods (2)' }).waitFor();
    await space.kubectl('rollout status deployment/deeds --timeout=120s');
    await runAction(page, {
      place: deployment(),
      button: 'Pause rollout',
      command: `kubectl rollout pause ${namespaced}`,
    });
    await page.getByRole('button', { name: 'Resume rollout' }).waitFor();
    assert.equal(await read('deployment deeds -o jsonpath={.spec.paused}'), 'true');
    await runAction(page, {
      place: deployment(),
      button: 'Resume rollout',
      command: `kubectl rollout resume ${namespaced}`,
    });
    await page.getByRole('button', { name: 'Pause rollout' }).waitFor();
    const before = await read('pods -l app=deeds -o jsonpath={.items[*].metadata.uid}');
    await runAction(page, { place: deployment(), button: 'Restart', command: `kubectl rollout restart ${namespaced}` });
    await space.until('other pods', async () => {
      const now = (await read('pods -l app=deeds -o jsonpath={.items[*].metadata.uid}')).split(' ');
      return now.length === 2 && now.every((uid) => !before.includes(uid));
    });
  });

  test('a CronJob is suspended, resumed and triggered, and the job has done its work', async () => {
    const { space, page } = world();
    const place = `cronjobs.batch/${space.namespace}/nightly`;
    await runAction(page, { place, button: 'Suspend', command: /kubectl patch cronjob\/nightly .*"suspend":true/ });
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    assert.equal(await read('cronjob nightly -o jsonpath={.spec.suspend}'), 'true');
    await runAction(page, { place, button: 'Resume', command: /"suspend":false/ });
    await page.getByRole('button', { name: 'Suspend', exact: true }).waitFor();
    await runAction(page, {
      place,
      button: 'Run now',
      fill: 'by-hand',
      command: 'kubectl create job by-hand --from=cronjob/nightly',
    });
    await page.getByRole('heading', { name: 'Job by-hand' }).waitFor();
    await space.kubectl('wait --for=condition=Complete job/by-hand --timeout=120s');
    await page.getByText('Complete: True').waitFor();
  });

  test('a node is cordoned and accepts no pods, and is uncordoned', async () => {
    const { space, page } = world();
    const node = (await space.kubectl('get nodes -o jsonpath={.items[0].metadata.name}')).trim();
    const place = `nodes/-/${node}`;
    await runAction(page, { place, button: 'Cordon', command: `kubectl cordon ${node}` });
    await page.getByRole('button', { name: 'Uncordon' }).waitFor();
    await space.kubectl(['run', 'waits', `--image=${images.test}`]);
    await show(page, `#/object/pods/${space.namespace}/waits`);
    await page
      .locator('.object-why')
      .getByText(/[Uu]nschedulable|cordon/)
      .first()
      .waitFor();
    await runAction(page, { place, button: 'Uncordon', command: `kubectl uncordon ${node}` });
    await page.getByRole('button', { name: 'Cordon', exact: true }).waitFor();
    await space.kubectl('wait --for=condition=Ready pod/waits --timeout=120s');
    await space.kubectl('delete pod waits --grace-period=0 --force');
  });

  test('an object is deleted with its dependents', async () => {
    const { space, page } = world();
    for (const [kind, name] of [
      ['configmaps', 'doomed'],
      ['deployments.apps', 'deeds'],
    ] as const) {
      const singular = kind.split('.')[0]!.slice(0, -1);
      await runAction(page, {
        place: `${kind}/${space.namespace}/${name}`,
        button: 'Delete',
        command: `kubectl delete ${singular}/${name} -n ${space.namespace}`,
      });
      await page.getByText('This object does not exist').waitFor();
    }
    await space.until('no pods', async () => (await read('pods -l app=deeds -o name')) === '');
  });
}
