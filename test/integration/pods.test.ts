/** Features of a pod on a real node: probes, restarts, init containers, volumes, identity, static pods. */
import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { images, keelson, startCluster, type Space, type TestCluster } from './cluster-fixture.ts';
import type { PodTrace } from '../../src/component-helpers/pod-trace/pod-trace.ts';
import { fetchText } from './fixtures/traffic.ts';

type Fields = Record<string, unknown>;

/** A pod of the test image, with its container of the same name. */
function podOf(name: string, container: Fields, spec: Fields = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 1, containers: [{ name, image: images.test, ...container }], ...spec },
  };
}

const shell = (script: string): Fields => ({ command: ['sh', '-c', script] });
const ready = (space: Space, pod: string): Promise<string> =>
  space.kubectl(`wait --for=condition=Ready pod/${pod} --timeout=120s`);
const log = (space: Space, pod: string, ...flags: string[]): Promise<string> => space.kubectl(['logs', pod, ...flags]);

describe('pods on a real node', { concurrency: 5 }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster?.stop());

  it('reports how the time of its start was spent', async () => {
    const space = await cluster.space('tracing');
    let tries = 0;
    // On a busy machine time may pass between two steps: one of several starts must be fully explained.
    const trace = await space.until('a start that is accounted for', async () => {
      const name = `traced-${++tries}`;
      const initContainers = [{ name: 'first', image: images.test, ...shell('true') }];
      const probe = { readinessProbe: { exec: { command: ['true'] } } };
      await space.apply(podOf(name, { ...shell('sleep 1000'), ...probe }, { initContainers }));
      await ready(space, name);
      const told = await keelson([
        'trace',
        `pod/${name}`,
        '-n',
        'tracing',
        '-o',
        'json',
        '--data-dir',
        cluster.dataDir,
      ]);
      const answer = JSON.parse(told.stdout) as PodTrace;
      await space.kubectl(`delete pod ${name} --wait=false`);
      return answer.accountedFor! >= 0.95 && answer;
    });
    assert.deepEqual(trace.missing, []);
    const names = new Set(trace.steps.map(({ component, name }) => `${component}: ${name}`));
    const expected = ['kube-apiserver: store', 'kube-scheduler: filter and score', 'kube-scheduler: bind'];
    const onNode = [
      'volumes',
      'RunPodSandbox',
      'network',
      'image',
      'CreateContainer',
      'start',
      'container ran',
      'readiness probe',
    ];
    for (const step of [...expected, ...onNode.map((name) => `kubelet: ${name}`)]) assert.ok(names.has(step), step);
  });

  it('backs off from a crashing container, with the messages of upstream', async () => {
    const space = await cluster.space('crashing');
    await space.kubectl([
      'create',
      'deployment',
      'crash',
      `--image=${images.test}`,
      '--',
      'sh',
      '-c',
      'echo about to fail; exit 3',
    ]);
    await space.until('CrashLoopBackOff', async () =>
      /crash-\S+\s+0\/1\s+CrashLoopBackOff\s+\d+ \(/.test(await space.kubectl('get pods')),
    );
    // The waiting state alternates with running, and lasts longer each time.
    const pod = await space.until('one that backs off', async () => {
      const [found] = JSON.parse(await space.kubectl('get pods -o jsonpath={.items}')) as PodFacts[];
      return found?.status.containerStatuses[0]?.state.waiting?.reason === 'CrashLoopBackOff' && found;
    });
    const status = pod.status.containerStatuses[0]!;
    assert.match(
      status.state.waiting?.message ?? '',
      /^back-off \w+ restarting failed container=test pod=crash-\S+_crashing\([-0-9a-f]{36}\)$/,
    );
    assert.deepEqual([status.lastState.terminated?.exitCode, status.lastState.terminated?.reason], [3, 'Error']);
    assert.equal(pod.status.phase, 'Running');
    await space.until('the event', async () =>
      /Warning\s+BackOff\s.*kubelet\s+(spec\.containers\{test\}: )?Back-off restarting failed container test in pod crash-\S+_crashing\(/.test(
        await space.kubectl(`describe pod ${pod.metadata.name}`),
      ),
    );
    await space.until('the log of the run before', async () =>
      (await log(space, pod.metadata.name, '--previous')).includes('about to fail'),
    );
    await space.until('none available', async () => /0\/1/.test(await space.kubectl('get deployment crash')));
  });

  it('reports why an image cannot be pulled', async () => {
    const space = await cluster.space('images');
    await space.kubectl('run absent --image=localhost:1/absent:1');
    await space.kubectl('run never --image=localhost/keelson/absent:1 --image-pull-policy=Never');
    await space.until('the pull error', async () =>
      /absent\s+0\/1\s+(ErrImagePull|ImagePullBackOff)\s/.test(await space.kubectl('get pods')),
    );
    await space.until('the refusal', async () =>
      /never\s+0\/1\s+ErrImageNeverPull\s/.test(await space.kubectl('get pods')),
    );
    await space.until('the events', async () => {
      const text = await space.kubectl('describe pods --show-events');
      return (
        /Failed to pull image "localhost:1\/absent:1"/.test(text) &&
        /is not present with pull policy of Never/.test(text)
      );
    });
  });

  it('gates endpoints by readiness and restarts by liveness', async () => {
    const space = await cluster.space('probes');
    await space.apply(
      podOf('gated', {
        ports: [{ containerPort: 8080 }],
        ...shell('while ! test -e /tmp/ready; do sleep 0.1; done; exec /serve'),
        readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 30 },
      }),
    );
    await space.apply(
      podOf('sick', {
        ...shell('touch /tmp/well; sleep 3600'),
        livenessProbe: {
          exec: { command: ['test', '-e', '/tmp/well'] },
          periodSeconds: 1,
          timeoutSeconds: 30,
          failureThreshold: 1,
        },
        startupProbe: { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 30 },
      }),
    );
    await space.kubectl('expose pod gated --port=80 --target-port=8080');
    const endpoints = (): Promise<string> =>
      space.kubectl(['get', 'endpointslices', '-o', 'jsonpath={.items[*].endpoints[*].conditions.ready}']);
    await space.until('the endpoint, not ready', async () => (await endpoints()) === 'false');
    await space.kubectl('exec gated -- touch /tmp/ready');
    await ready(space, 'gated');
    await space.until('the endpoint, ready', async () => (await endpoints()) === 'true');
    const address = await space.kubectl('get service gated -o jsonpath={.spec.clusterIP}');
    await space.until('an answer', async () => (await fetchText(`http://${address}/`)) !== '');
    await ready(space, 'sick');
    await space.kubectl('exec sick -- rm /tmp/well');
    await space.until(
      'the restart',
      async () => (await space.kubectl('get pod sick -o jsonpath={.status.containerStatuses[0].restartCount}')) === '1',
    );
    await space.until('both events', async () =>
      /Warning\s+Unhealthy .*Liveness probe failed[^]*Normal\s+Killing .*Container sick failed liveness probe, will be restarted/.test(
        await space.kubectl('describe pod sick'),
      ),
    );
    await ready(space, 'sick');
  });

  it('runs init containers in order before the others, which share an emptyDir', async () => {
    const space = await cluster.space('inits');
    const mount = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
    await space.apply(
      podOf(
        'shared',
        { ...shell('cat /shared/log; echo third >> /shared/log; sleep 3600'), ...mount },
        {
          volumes: [{ name: 'shared', emptyDir: {} }],
          initContainers: [
            { name: 'first', image: images.test, ...shell('echo first > /shared/log'), ...mount },
            { name: 'second', image: images.test, ...shell('echo second >> /shared/log'), ...mount },
          ],
          containers: [
            {
              name: 'writer',
              image: images.test,
              ...shell('cat /shared/log; echo third >> /shared/log; sleep 3600'),
              ...mount,
            },
            {
              name: 'reader',
              image: images.test,
              ...shell('while ! grep -q third /shared/log; do sleep 0.05; done; echo seen; sleep 3600'),
              ...mount,
            },
          ],
        },
      ),
    );
    await space.apply(
      podOf(
        'stuck',
        {},
        { initContainers: [{ name: 'bad', image: images.test, ...shell('exit 1') }], restartPolicy: 'Never' },
      ),
    );
    await ready(space, 'shared');
    await space.until(
      'what the writer found',
      async () => (await log(space, 'shared', '-c', 'writer')) === 'first\nsecond\n',
    );
    await space.until('the reader to see it', async () => (await log(space, 'shared', '-c', 'reader')) === 'seen\n');
    assert.match(await space.kubectl('get pod shared'), /2\/2\s+Running/);
    await space.until('the failed init container', async () =>
      /stuck\s+0\/1\s+Init:Error\s/.test(await space.kubectl('get pod stuck')),
    );
    await space.until(
      'the end of its pod',
      async () => (await space.kubectl('get pod stuck -o jsonpath={.status.phase}')) === 'Failed',
    );
  });

  it('provides secrets, config maps and pod fields to containers, and applies changes without waiting for a resync', async (t) => {
    const space = await cluster.space('configured');
    await space.kubectl('create secret generic login --from-literal=user=ada --from-literal=word=xyz');
    await space.kubectl('create configmap settings --from-literal=color=red --from-literal=size=1');
    const watch =
      'while ! grep -q blue /etc/settings/color; do sleep 0.02; done; echo ${EPOCHREALTIME/.} > /tmp/seen; sleep 3600';
    await space.apply(
      podOf(
        'facts',
        {
          command: ['bash', '-c', watch],
          resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } },
          env: [
            { name: 'USER_NAME', valueFrom: { secretKeyRef: { name: 'login', key: 'user' } } },
            { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
            { name: 'BOTH', value: '$(USER_NAME)@$(POD)' },
          ],
          envFrom: [{ configMapRef: { name: 'settings' }, prefix: 'C_' }],
          volumeMounts: [
            { name: 'login', mountPath: '/etc/login', readOnly: true },
            { name: 'settings', mountPath: '/etc/settings' },
            { name: 'facts', mountPath: '/etc/facts' },
            { name: 'memory', mountPath: '/memory' },
          ],
        },
        {
          volumes: [
            {
              name: 'login',
              secret: { secretName: 'login', defaultMode: 0o400, items: [{ key: 'word', path: 'deep/word' }] },
            },
            { name: 'settings', configMap: { name: 'settings' } },
            { name: 'facts', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
            { name: 'memory', emptyDir: { medium: 'Memory' } },
          ],
        },
      ),
    );
    await ready(space, 'facts');
    const inside = (script: string): Promise<string> => space.kubectl(['exec', 'facts', '--', 'sh', '-c', script]);
    const address = await space.kubectl('get pod facts -o jsonpath={.status.podIP}');
    assert.equal(
      await inside('echo $USER_NAME $POD $IP $LIMIT $BOTH $C_color $C_size'),
      `ada facts ${address} 67108864 ada@facts red 1\n`,
    );
    assert.equal(
      await inside(
        'cat /etc/login/deep/word; stat -L -c %a /etc/login/deep/word; cat /etc/facts/labels; df /memory | tail -n 1 | cut -d" " -f1',
      ),
      'xyz400\napp="facts"tmpfs\n',
    );
    const changedMs = Date.now();
    await space.kubectl(['patch', 'configmap', 'settings', '--type=merge', '-p', '{"data":{"color":"blue"}}']);
    const seenMs = Math.round(
      Number(await space.until('the change in the pod', () => inside('cat /tmp/seen 2>/dev/null'))) / 1000,
    );
    t.diagnostic(`a change of a config map is in the pod after ${seenMs - changedMs} ms, kubectl patch included`);
    // By the watch: the kubelet resyncs once a minute. On an idle machine the change takes less than two seconds.
    assert.ok(seenMs - changedMs < 30_000, `the change took ${seenMs - changedMs} ms`);
    await space.kubectl('label pod facts tier=back');
    await space.until('the label in the pod', async () =>
      (await inside('cat /etc/facts/labels')).includes('tier="back"'),
    );
  });

  it('gives a pod a token that the API accepts and that has the rights of its service account', async () => {
    const space = await cluster.space('identity');
    await space.kubectl('create serviceaccount reader');
    await space.kubectl('create role pod-reader --verb=get,list --resource=pods');
    await space.kubectl('create rolebinding read --role=pod-reader --serviceaccount=identity:reader');
    await space.apply(podOf('caller', {}, { serviceAccountName: 'reader' }));
    await ready(space, 'caller');
    const script =
      'D=/var/run/secrets/kubernetes.io/serviceaccount; exec curl -sS --max-time 60 --cacert $D/ca.crt -H "Authorization: Bearer $(cat $D/token)" -w " %{http_code}" https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/$(cat $D/namespace)/';
    const pods = await space.kubectl(['exec', 'caller', '--', 'sh', '-c', `${script}pods`]);
    assert.match(pods, /"kind":\s*"PodList"[^]*"name":\s*"caller"[^]* 200$/);
    const secrets = await space.kubectl(['exec', 'caller', '--', 'sh', '-c', `${script}secrets`]);
    assert.match(
      secrets,
      /secrets is forbidden: User \\"system:serviceaccount:identity:reader\\" cannot list resource \\"secrets\\"[^]* 403$/,
    );
    const token = (await space.kubectl('create token reader --duration=10m')).trim();
    const bare = [
      '--kubeconfig=/dev/null',
      `--server=https://127.0.0.1:${cluster.httpsPort}`,
      '--insecure-skip-tls-verify',
      `--token=${token}`,
    ];
    assert.equal(
      await space.kubectl([...bare, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']),
      'system:serviceaccount:identity:reader',
    );
  });

  it('runs static pods of the manifest folder with a mirror pod in the API', async () => {
    const space = await cluster.space('static');
    const file = join(cluster.dataDir, 'pod-manifests/web.yaml');
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web', namespace: 'static' },
        spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'web', image: images.test }] },
      }),
    );
    const node = await cluster.kubectl('get nodes -o jsonpath={.items[0].metadata.name}');
    await space.until('the mirror pod', async () =>
      new RegExp(`web-${node}\\s+1/1\\s+Running`).test(await space.kubectl('get pods')),
    );
    assert.match(await space.kubectl(`get pod web-${node} -o yaml`), /kubernetes\.io\/config\.mirror: /);
    const container = (): Promise<string> =>
      space.kubectl(`get pod web-${node} -o jsonpath={.status.containerStatuses[0].containerID}`);
    const before = await container();
    await space.kubectl(`delete pod web-${node} --grace-period=1`);
    await space.until('the mirror to come back', async () => (await container()) === before);
    rmSync(file);
    await space.until('the end of the static pod', async () => (await space.kubectl('get pods -o name')) === '');
    assert.ok(!existsSync(file));
  });

  it('ends pods with grace: preStop, TERM, then KILL', async () => {
    const space = await cluster.space('endings');
    const polite = 'trap "echo got TERM; exit 0" TERM; echo up; while true; do sleep 0.1; done';
    await space.apply(
      podOf(
        'polite',
        { ...shell(polite), lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo hook > /proc/1/fd/1'] } } } },
        { terminationGracePeriodSeconds: 300 },
      ),
    );
    await space.apply(podOf('stubborn', shell('trap "" TERM; echo up; while true; do sleep 1; done')));
    await ready(space, 'polite');
    await ready(space, 'stubborn');
    const follow = space.start('logs -f polite');
    await follow.until(/up/);
    // The delete waits for at most the grace period; a program that ends at once must not need it.
    await space.kubectl('delete pod polite');
    const { stdout } = await follow.ended();
    assert.equal(stdout, 'up\nhook\ngot TERM\n');
    await space.kubectl('delete pod stubborn --timeout=120s');
    await space.apply(
      podOf('forced', shell('trap "" TERM; while true; do sleep 1; done'), { terminationGracePeriodSeconds: 300 }),
    );
    await ready(space, 'forced');
    await space.kubectl('delete pod forced --force --grace-period=0');
    assert.match((await space.outcome('get pod forced')).stderr, /not found/);
  });
});

interface PodFacts {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses: readonly {
      readonly state: { waiting?: { reason: string; message: string } };
      readonly lastState: { terminated?: { exitCode: number; reason: string } };
    }[];
  };
}
