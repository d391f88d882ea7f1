/** The reconciler over a small API under virtual time, with a helm that is a function. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ClusterRoleBindings, Jobs, Secrets, ServiceAccounts } from '../../api/gen/resources.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import { forbiddenField } from '../../api/field-error.ts';
import { invalid } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { createFakeApi, type FakeApi } from '../../client/fake-api-fixture.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createChartController } from './chart-controller.ts';
import type { ChartControllerConfig } from './chart-deps.ts';
import { CHART_LABEL, FINALIZER, MANAGED_BY_ANNOTATION } from './chart-names.ts';
import { HelmChartConfigs, HelmCharts, type HelmChart, type HelmChartSpec } from './helm-kinds.ts';
import type { HelmOutcome } from './helm-runner.ts';
import { isOver } from './own-job.ts';
import type { ReleaseRequest } from './release-request.ts';

const KEY = 'apps/web';

function start(config: Partial<ChartControllerConfig> = {}, seed: (api: FakeApi) => void = () => undefined) {
  const platform = createSimPlatform();
  const { clock } = platform;
  const api = createFakeApi(() => formatTime(clock.nowMs()), 1, [HelmCharts, HelmChartConfigs]);
  seed(api);
  const client = createInProcessClient({
    handler: api.handler,
    principal: { name: 'test', groups: [] },
    clock,
    userAgent: 'test',
  });
  const informers = createInformerFactory({ client, clock, random: platform.random, log: platform.log });
  const events: string[] = [];
  const runs: {
    readonly action: string;
    readonly request: ReleaseRequest;
    readonly atMs: number;
    readonly bound: boolean;
  }[] = [];
  let outcome: HelmOutcome = { ok: true, message: '' };
  const startMs = clock.monotonicMs();
  const run = async (action: string, request: ReleaseRequest): Promise<HelmOutcome> => {
    const bound = api.objects(ClusterRoleBindings).length === 1;
    runs.push({ action, request, atMs: clock.monotonicMs() - startMs, bound });
    return outcome;
  };
  const stop = new AbortController();
  const controller = createChartController(
    {
      client,
      informers,
      platform,
      recorder: { event: (_target, type, reason, message) => void events.push(`${type} ${reason}: ${message}`) },
      runner: {
        release: (request) => run('release', request),
        uninstall: (request) => run('uninstall', request),
      },
      token: async () => 'secret',
      onSecretChange: () => undefined,
    },
    { jobImage: '', apiHost: '10.0.0.1:6443', chartsFolder: '/charts', httpsPort: 6443, proxies: {}, ...config },
  );
  informers.start(stop.signal);
  const ended = controller.start(stop.signal);
  return {
    api,
    platform,
    events,
    runs,
    helm: (next: HelmOutcome) => void (outcome = next),
    chart: (spec: HelmChartSpec, more: object = {}) =>
      api.seed(HelmCharts, { metadata: { name: 'web', namespace: 'apps', ...more }, spec } as HelmChart),
    read: () => api.objects(HelmCharts)[0],
    failed: () => api.objects(HelmCharts)[0]?.status?.conditions?.find(({ type }) => type === 'Failed'),
    job: (name: string) => api.objects(Jobs).find(({ metadata }) => metadata.name === name),
    settle: (ms = 2_000) => clock.advance(ms),
    async end() {
      stop.abort();
      await ended;
    },
  };
}

const CONTENT = { chartContent: 'AAAA' };
const LONG_NAME = 'a'.repeat(51);

describe('a HelmChart', () => {
  test('is claimed, released once with the rights of its account, and its job completes', async () => {
    const world = start();
    world.chart(CONTENT);
    await world.settle();
    const { metadata, status } = world.read()!;
    assert.deepEqual(
      [metadata.finalizers, metadata.annotations?.[MANAGED_BY_ANNOTATION]],
      [[FINALIZER], 'helm-controller'],
    );
    assert.equal(status?.jobName, 'helm-install-web');
    assert.deepEqual(world.failed(), {
      type: 'Failed',
      status: 'False',
      reason: 'JobNotFailed',
      message: 'the job has not failed',
    });
    const job = world.job('helm-install-web')!;
    assert.deepEqual([job.spec?.managedBy, isOver(job, 'Complete')], ['keelson.dev/helm', true]);
    assert.deepEqual(
      world.runs.map(({ action, bound }) => [action, bound]),
      [['release', true]],
    );
    assert.deepEqual(world.api.objects(ClusterRoleBindings), []);
    await world.settle(600_000);
    assert.equal(world.runs.length, 1, 'nothing has changed');
    await world.end();
  });

  test('is released again for each change of it or its config, and not for one that changes nothing', async () => {
    const world = start();
    world.chart(CONTENT);
    await world.settle();
    world.api.modify(HelmCharts, KEY, (chart) => ({ ...chart, spec: { ...CONTENT, set: { a: 1 } } }));
    await world.settle();
    world.api.seed(HelmChartConfigs, { metadata: { name: 'web', namespace: 'apps' }, spec: { valuesContent: 'a: 2' } });
    await world.settle();
    world.api.modify(HelmCharts, KEY, (chart) => ({ ...chart, metadata: { ...chart.metadata, labels: { x: 'y' } } }));
    await world.settle();
    assert.deepEqual(
      world.runs.map(({ request }) => [request.setArguments, Object.values(request.values)]),
      [
        [[], []],
        [['--set', 'a=1'], []],
        [['--set', 'a=1'], ['a: 2']],
      ],
    );
    await world.end();
  });

  test('is retried with growing pauses, up to its limit, and then reports the reason', async () => {
    const world = start();
    world.helm({ ok: false, message: 'Error: no' });
    world.chart({ ...CONTENT, backOffLimit: 2 });
    await world.settle(3_600_000);
    assert.deepEqual(
      world.runs.map(({ atMs }) => Math.round(atMs / 1000)),
      [0, 10, 30],
    );
    assert.deepEqual(world.failed(), {
      type: 'Failed',
      status: 'True',
      reason: 'Job failed',
      message: 'Job has reached configured number of retries without succeeding: Error: no',
    });
    assert.ok(isOver(world.job('helm-install-web')!, 'Failed'));
    assert.deepEqual(world.api.objects(ClusterRoleBindings), [], 'no rights are left');
    assert.equal(world.events.filter((each) => each.includes('JobFailed')).length, 1);
    world.helm({ ok: true, message: '' });
    world.api.modify(HelmCharts, KEY, (chart) => ({ ...chart, spec: { ...CONTENT, backOffLimit: 3 } }));
    await world.settle();
    assert.equal(world.failed()?.status, 'False');
    await world.end();
  });

  test('that is deleted is uninstalled first, with retries, and leaves nothing', async () => {
    const world = start();
    world.chart(CONTENT);
    await world.settle();
    world.helm({ ok: false, message: 'Error: no' });
    world.api.modify(HelmCharts, KEY, (chart) => ({
      ...chart,
      metadata: { ...chart.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    }));
    await world.settle(5_000);
    assert.ok(world.read(), 'it stays until it is uninstalled');
    world.helm({ ok: true, message: '' });
    await world.settle(60_000);
    assert.deepEqual(
      world.runs.map(({ action }) => action),
      ['release', 'uninstall', 'uninstall'],
    );
    for (const info of [HelmCharts, Jobs, ServiceAccounts, ClusterRoleBindings, Secrets])
      assert.deepEqual(world.api.objects(info as typeof Jobs), [], info.resource);
    await world.end();
  });

  for (const [what, spec, name = 'web'] of [
    ['whose name is too long for its jobs', CONTENT, LONG_NAME],
    ['whose timeout is none', { ...CONTENT, timeout: '-5m' }],
  ] as const)
    test(`${what} can be deleted`, async () => {
      const world = start();
      world.chart(spec, { name });
      await world.settle();
      world.api.modify(HelmCharts, `apps/${name}`, (chart) => ({
        ...chart,
        metadata: { ...chart.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      }));
      await world.settle(60_000);
      assert.equal(world.read(), undefined);
      assert.deepEqual(
        world.runs.map(({ request }) => request.timeoutMs),
        name === 'web' ? [undefined] : [],
      );
      await world.end();
    });

  test('whose release another process interrupted keeps no rights, whatever its outcome', async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
    const world = start({}, (api) => {
      for (const chart of ['web', 'gone', 'pod', 'other']) {
        const subjects = [{ kind: 'ServiceAccount', name: `helm-${chart}`, namespace: 'apps' }];
        const metadata = { name: `helm-apps-${chart}`, labels: { [CHART_LABEL]: chart } };
        api.seed(ClusterRoleBindings, { metadata, roleRef, subjects });
      }
      const chart = (name: string, spec: HelmChartSpec, annotations = {}) =>
        api.seed(HelmCharts, { metadata: { name, namespace: 'apps', annotations }, spec } as HelmChart);
      chart('web', { ...CONTENT, helmVersion: 'v2' });
      chart('pod', { ...CONTENT, jobImage: 'klipper:1' });
      chart('other', CONTENT, { [MANAGED_BY_ANNOTATION]: 'other' });
    });
    await world.settle();
    assert.deepEqual(
      world.api
        .objects(ClusterRoleBindings)
        .map(({ metadata }) => metadata.name)
        .toSorted(),
      ['helm-apps-other', 'helm-apps-pod'],
    );
    await world.end();
  });

  for (const action of ['install', 'delete'] as const)
    test(`whose job of ${action} the API server refuses reports that in its condition`, async () => {
      const world = start();
      world.chart(CONTENT);
      world.api.intercept = ({ method, body }) => {
        if (method === 'POST' && (body as Job).metadata?.name === `helm-${action}-web`)
          throw invalid(Jobs, 'web', [forbiddenField('spec.x', 'no')]);
      };
      await world.settle();
      if (action === 'delete')
        world.api.modify(HelmCharts, KEY, (chart) => ({
          ...chart,
          metadata: { ...chart.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
        }));
      await world.settle(5_000);
      assert.match(world.failed()?.message ?? '', /spec\.x/);
      assert.equal(world.events.filter((each) => each.includes('JobCreateFailed')).length, 1);
      await world.end();
    });

  for (const [what, spec, message, name = 'web'] of [
    ['of another helm', { ...CONTENT, helmVersion: 'v2' }, /Only Helm v3/],
    [
      'with settings of a pod, without an image',
      { ...CONTENT, podSecurityContext: {} },
      /spec\.podSecurityContext is for the pod/,
    ],
    ['with a place that is none', { chart: '/etc/passwd' }, /neither a URL/],
    ['with a file that is not there', { chart: 'none.tgz' }, /there is no file \/charts\/none\.tgz/],
    [
      'with a Secret that is not there',
      { ...CONTENT, valuesSecrets: [{ name: 's', keys: ['k'] }] },
      /there is no Secret s/,
    ],
    [
      'with credentials that are not there',
      { chart: 'a', repo: 'http://x', authSecret: { name: 's' } },
      /spec\.authSecret/,
    ],
    ['with authorities that are not there', { ...CONTENT, repoCAConfigMap: { name: 'c' } }, /spec\.repoCAConfigMap/],
    ['with a repository of another kind', { chart: 'a', repo: 'file:///etc' }, /spec\.repo/],
    ['with a timeout that is none', { ...CONTENT, timeout: 'soon' }, /spec\.timeout/],
    ['with a name too long for its jobs', CONTENT, /metadata\.name: must be no more than 50 characters/, LONG_NAME],
  ] as const)
    test(`${what} is refused with a condition and one event, and nothing runs`, async () => {
      const world = start();
      world.chart(spec, { name });
      await world.settle(300_000);
      assert.match(world.failed()?.message ?? '', message);
      assert.equal(world.failed()?.status, 'True');
      assert.equal(world.events.length, 1, world.events.join('\n'));
      assert.deepEqual([world.runs, world.api.objects(Jobs)], [[], []]);
      await world.end();
    });

  for (const [what, annotations] of [
    ['claimed by another controller', { [MANAGED_BY_ANNOTATION]: 'other' }],
    ['to be left alone', { 'helmcharts.helm.cattle.io/unmanaged': '' }],
  ] as const)
    test(`${what} is not touched`, async () => {
      const world = start();
      world.chart(CONTENT, { annotations });
      await world.settle(60_000);
      assert.deepEqual([world.read()?.metadata.finalizers, world.runs], [undefined, []]);
      await world.end();
    });

  test('is not released with a binding that is another’s', async () => {
    const world = start();
    world.api.seed(ClusterRoleBindings, {
      metadata: { name: 'helm-apps-web' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    });
    world.chart(CONTENT);
    await world.settle();
    assert.match(world.failed()?.message ?? '', /helm-apps-web is there already and is another's/);
    assert.deepEqual([world.runs.length, world.api.objects(ClusterRoleBindings).length], [0, 1]);
    await world.end();
  });

  test('with an image gets a job whose pod runs as its account, and continues when that is complete', async () => {
    const world = start({ jobImage: 'klipper:1' });
    world.chart({ ...CONTENT, valuesContent: 'a: 1', bootstrap: true });
    await world.settle();
    const job = world.job('helm-install-web')!;
    const pod = job.spec?.template?.spec;
    assert.deepEqual(
      [pod?.containers?.[0]?.image, pod?.serviceAccountName, pod?.hostNetwork],
      ['klipper:1', 'helm-web', true],
    );
    assert.equal(world.api.objects(ClusterRoleBindings).length, 1);
    assert.deepEqual(world.runs, []);
    world.api.modify(HelmCharts, KEY, (chart) => ({ ...chart, spec: { ...CONTENT, valuesContent: 'a: 2' } }));
    await world.settle();
    assert.ok(world.job('helm-install-web')?.metadata.deletionTimestamp, 'its pods end before the next job is made');
    world.api.remove(Jobs, 'apps/helm-install-web');
    await world.settle();
    assert.notEqual(world.job('helm-install-web')?.metadata.uid, job.metadata.uid);
    await world.end();
  });
});
