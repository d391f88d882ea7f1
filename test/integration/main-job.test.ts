/** Common tasks with kubectl: deployments, services, rollouts, scheduling, and everyday commands. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { images, startCluster, type Space, type TestCluster } from './cluster-fixture.ts';
import { fetchText, startTraffic, tcpOutcome } from './fixtures/traffic.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

describe('the main job with kubectl', { concurrency: 4 }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster?.stop());

  it('creates, exposes, scales, updates without a failed request, and rolls back', async () => {
    const web = await cluster.space('rollouts');
    await web.kubectl(`create deployment web --image=${images.test} --replicas=2 --port=8080`);
    await web.kubectl(['patch', 'deployment', 'web', '--patch', JSON.stringify(servingPatch)]);
    await web.kubectl('rollout status deployment/web --timeout=120s');
    assert.match(await web.kubectl('expose deployment web --port=80 --target-port=8080'), /service\/web exposed/);
    const address = await web.kubectl('get service web -o jsonpath={.spec.clusterIP}');
    const url = `http://${address}/cgi-bin/version`;
    await web.until('an answer through the ClusterIP', async () => (await fetchText(url)) === '1');

    await web.kubectl('scale deployment web --replicas=10');
    await web.kubectl('rollout status deployment/web --timeout=120s');
    assert.equal(await web.kubectl('get deployment web -o jsonpath={.status.readyReplicas}'), '10');
    await web.kubectl('scale deployment web --replicas=4 --current-replicas=10');
    await web.until('four pods', async () => (await names(web, 'pods')).length === 4);

    const traffic = startTraffic(url);
    await web.kubectl(['annotate', 'deployment', 'web', 'kubernetes.io/change-cause=to two']);
    await web.kubectl(`set image deployment/web test=${images.test2}`);
    await web.kubectl('rollout status deployment/web --timeout=120s');
    await web.until(
      'answers of the new version alone',
      async () => (await fetchText(url)) === '2' && (await names(web, 'pods')).length === 4,
    );
    await traffic.stop();
    assert.deepEqual(traffic.failures, []);
    assert.deepEqual([...traffic.answers.keys()].sort(), ['1', '2'], 'both versions answered on the way');

    const history = await web.kubectl('rollout history deployment/web');
    assert.match(history, /REVISION\s+CHANGE-CAUSE/);
    assert.match(history, /to two/);
    await web.kubectl('rollout undo deployment/web');
    await web.kubectl('rollout status deployment/web --timeout=120s');
    await web.until('the old version', async () => (await fetchText(url)) === '1');
    assert.equal(
      await web.kubectl('get deployment web -o jsonpath={.spec.template.spec.containers[0].image}'),
      images.test,
    );

    await web.kubectl('rollout restart deployment/web');
    await web.kubectl('rollout pause deployment/web');
    assert.match(await web.kubectl('get deployment web -o jsonpath={.spec.paused}'), /true/);
    await web.kubectl('rollout resume deployment/web');
    await web.kubectl('rollout status deployment/web --timeout=120s');
    await web.kubectl('scale deployment web --replicas=0');
    await web.until('no pods', async () => (await names(web, 'pods')).length === 0);
    await web.until('a service without endpoints refuses', async () => (await tcpOutcome(address, 80)) === 'refused');
  });

  it('answers by ClusterIP and NodePort from the host, and by name and address from other pods', async () => {
    const space = await cluster.space('services');
    await space.kubectl(`create deployment echo --image=${images.test} --replicas=2 --port=8080`);
    await space.kubectl('expose deployment echo --type=NodePort --port=80 --target-port=8080 --name=echo');
    await space.kubectl(`run client --image=${images.test}`);
    await space.kubectl('rollout status deployment/echo --timeout=120s');
    await space.kubectl('wait --for=condition=Ready pod/client --timeout=120s');
    const [address, nodePort] = (
      await space.kubectl('get service echo -o jsonpath={.spec.clusterIP},{.spec.ports[0].nodePort}')
    ).split(',');
    const nodeAddress = await space.kubectl([
      'get',
      'nodes',
      '-o',
      'jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}',
    ]);
    const backends = await names(space, 'pods', '-l', 'app=echo');
    for (const base of [`http://${address}`, `http://${nodeAddress}:${nodePort}`]) {
      await space.until(`${base} from the host`, async () =>
        backends.includes(await fetchText(`${base}/cgi-bin/hostname`)),
      );
    }
    for (const base of [`http://${address}`, `http://${nodeAddress}:${nodePort}`]) {
      await space.until(`${base} from a pod`, async () => {
        const answer = await space.kubectl([
          'exec',
          'client',
          '--',
          'curl',
          '-sS',
          '--max-time',
          '3',
          `${base}/cgi-bin/hostname`,
        ]);
        return backends.includes(answer.trim());
      });
    }
    await space.until('echo by name from a pod', async () =>
      backends.includes(
        (
          await space.kubectl([
            'exec',
            'client',
            '--',
            'curl',
            '-sS',
            '--max-time',
            '3',
            'http://echo/cgi-bin/hostname',
          ])
        ).trim(),
      ),
    );
    for (const name of ['echo.services', 'echo.services.svc.cluster.local']) {
      await space.until(name, async () =>
        backends.includes(
          (
            await space.kubectl([
              'exec',
              'client',
              '--',
              'curl',
              '-sS',
              '--max-time',
              '3',
              `http://${name}/cgi-bin/hostname`,
            ])
          ).trim(),
        ),
      );
    }
    const looked = await space.until('the name of the API', () =>
      space.kubectl('exec client -- getent hosts kubernetes.default'),
    );
    assert.match(
      looked,
      new RegExp(`^${await cluster.kubectl('get service kubernetes -o jsonpath={.spec.clusterIP}')}\\s`),
    );
  });

  it('reports on the pod why it cannot be scheduled', async () => {
    const space = await cluster.space('unschedulable');
    await space.kubectl([
      'run',
      'greedy',
      `--image=${images.test}`,
      '--overrides',
      JSON.stringify({
        spec: { containers: [{ name: 'greedy', image: images.test, resources: { requests: { cpu: '1000' } } }] },
      }),
    ]);
    await space.kubectl([
      'run',
      'elsewhere',
      `--image=${images.test}`,
      '--overrides',
      JSON.stringify({ spec: { nodeSelector: { disk: 'ssd' } } }),
    ]);
    const scheduled = async (pod: string): Promise<Condition | undefined> =>
      (await conditions(space, `pod/${pod}`)).find(({ type }) => type === 'PodScheduled');
    const greedy = await space.until('the reason on the pod', () => scheduled('greedy'));
    assert.deepEqual([greedy.status, greedy.reason], ['False', 'Unschedulable']);
    assert.match(greedy.message ?? '', /^0\/1 nodes are available: 1 Insufficient cpu\./);
    const elsewhere = await space.until('the reason on the other pod', () => scheduled('elsewhere'));
    assert.match(
      elsewhere.message ?? '',
      /^0\/1 nodes are available: 1 node\(s\) didn't match Pod's node affinity\/selector\./,
    );
    await space.until('the event', async () =>
      /Warning\s+FailedScheduling .*Insufficient cpu/.test(await space.kubectl('describe pod greedy')),
    );
    assert.match(await space.kubectl('get pod greedy'), /greedy\s+0\/1\s+Pending\s+0\s/);
    const node = (await names(cluster, 'nodes'))[0]!;
    await space.kubectl(`label node ${node} disk=ssd`);
    await space.kubectl('wait --for=condition=Ready pod/elsewhere --timeout=120s');
    await space.kubectl(`label node ${node} disk-`);
  });

  it('prints resources in every format and with every selector', async () => {
    const space = await cluster.space('forms');
    await space.kubectl(`run one --image=${images.test} --labels=app=one,tier=front`);
    await space.kubectl(`run two --image=${images.test} --labels=app=two,tier=back`);
    await space.kubectl('wait --for=condition=Ready pod --all --timeout=120s');
    assert.match(
      await space.kubectl('get pods -o wide'),
      /NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\s+IP\s+NODE\s+NOMINATED NODE\s+READINESS GATES\none\s+1\/1\s+Running\s+0\s+\S+\s+10\./,
    );
    assert.match(await space.kubectl('get pods --show-labels -l tier=front'), /one .*app=one,tier=front/);
    assert.deepEqual(await names(space, 'pods', '-l', 'tier in (back),app!=one'), ['two']);
    assert.deepEqual(await names(space, 'pods', '--field-selector', 'metadata.name=one'), ['one']);
    assert.match(await space.kubectl('get pod one -o yaml'), /^apiVersion: v1\nkind: Pod\n/);
    const list = JSON.parse(await space.kubectl('get pods -o json')) as { kind: string; items: unknown[] };
    assert.deepEqual([list.kind, list.items.length], ['List', 2]);
    assert.equal(
      await space.kubectl(['get', 'pods', '-o', 'jsonpath={range .items[*]}{.metadata.name}={.status.phase} {end}']),
      'one=Running two=Running ',
    );
    assert.match(
      await space.kubectl('get pods -o custom-columns=POD:.metadata.name,APP:.metadata.labels.app'),
      /POD\s+APP\none\s+one\ntwo\s+two\n/,
    );
    assert.match(await space.kubectl('get pods --sort-by=.metadata.creationTimestamp --no-headers'), /^one[^]*\ntwo/);
    const lines = [
      /^Name:\s+one$/m,
      /^Status:\s+Running$/m,
      /Normal\s+Scheduled\s.*default-scheduler\s+Successfully assigned forms\/one to /,
      /Normal\s+Pulled .*already present on machine/,
      /Normal\s+Created /,
      /Normal\s+Started /,
    ];
    await space.until('all of it, events too', async () => {
      const described = await space.kubectl('describe pod one');
      for (const line of lines) assert.match(described, line);
      return true;
    });
    assert.match(
      await space.kubectl('describe node'),
      /Conditions:[^]*Ready\s+True[^]*KubeletReady[^]*Non-terminated Pods:/,
    );
    assert.match(await space.kubectl('explain deployment.spec.strategy'), /FIELD: strategy <DeploymentStrategy>/);
    assert.match(await space.kubectl('api-resources'), /^deployments\s+deploy\s+apps\/v1\s+true\s+Deployment$/m);
    assert.match(await space.kubectl('api-versions'), /^apps\/v1$/m);
    assert.match(await space.kubectl('version'), /Server Version: v1\.36\./);
    assert.match(await space.kubectl('cluster-info'), /Kubernetes control plane.* is running at/);
    assert.equal((await space.kubectl('auth can-i create pods')).trim(), 'yes');
    assert.equal(
      (await space.outcome('auth can-i create pods --as=system:serviceaccount:forms:default')).stdout.trim(),
      'no',
    );
    assert.match(await space.kubectl('auth whoami'), /system:masters/);
  });

  it('labels, annotates, patches in all forms, edits, and refuses invalid changes', async () => {
    const space = await cluster.space('changes');
    await space.kubectl(`create deployment app --image=${images.test} --replicas=1`);
    await space.kubectl('label deployment app tier=front');
    assert.match(
      (await space.outcome('label deployment app tier=back')).stderr,
      /'tier' already has a value \(front\), and --overwrite is false/,
    );
    await space.kubectl('label deployment app tier=back --overwrite');
    await space.kubectl('annotate deployment app note=first');
    await space.kubectl('annotate deployment app note-');
    await space.kubectl(['patch', 'deployment', 'app', '--type=merge', '-p', '{"spec":{"minReadySeconds":1}}']);
    await space.kubectl([
      'patch',
      'deployment',
      'app',
      '--type=json',
      '-p',
      '[{"op":"replace","path":"/spec/minReadySeconds","value":2},{"op":"add","path":"/metadata/labels/by","value":"json"}]',
    ]);
    await space.kubectl([
      'patch',
      'deployment',
      'app',
      '-p',
      '{"spec":{"template":{"spec":{"containers":[{"name":"test","env":[{"name":"A","value":"1"}]}]}}}}',
    ]);
    const edited = await space.kubectl('edit deployment app', {
      env: {
        ...process.env,
        KUBECONFIG: cluster.kubeconfig,
        KUBE_EDITOR: 'sed -i s/minReadySeconds:.*/minReadySeconds:\\ 3/',
      },
    });
    assert.match(edited, /deployment\.apps\/app edited/);
    const app = JSON.parse(await space.kubectl('get deployment app -o json')) as DeploymentFacts;
    assert.deepEqual(app.metadata.labels, { app: 'app', tier: 'back', by: 'json' });
    assert.equal(app.spec.minReadySeconds, 3);
    assert.deepEqual(
      app.spec.template.spec.containers.map(({ name, image, env }) => ({ name, image, env })),
      [{ name: 'test', image: images.test, env: [{ name: 'A', value: '1' }] }],
    );
    await space.kubectl('set env deployment/app B=2');
    await space.kubectl('set resources deployment/app --requests=cpu=10m --limits=memory=64Mi');
    const refused = await space.outcome([
      'patch',
      'deployment',
      'app',
      '--type=merge',
      '-p',
      '{"spec":{"replicas":-1}}',
    ]);
    assert.match(
      refused.stderr,
      /The Deployment "app" is invalid: spec\.replicas: Invalid value: -1: must be greater than or equal to 0/,
    );
    const immutable = await space.outcome([
      'patch',
      'deployment',
      'app',
      '--type=merge',
      '-p',
      '{"spec":{"selector":{"matchLabels":{"app":"x"}}}}',
    ]);
    assert.match(immutable.stderr, /field is immutable/);
    const strict = await space.outcome(['apply', '-f', '-'], {
      input: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\ndatas: {a: b}\n',
    });
    assert.match(strict.stderr, /strict decoding error: unknown field "datas"/);
    assert.match(
      (await space.outcome('get pod nobody')).stderr,
      /Error from server \(NotFound\): pods "nobody" not found/,
    );
    assert.match(
      (await space.outcome(`create deployment app --image=${images.test}`)).stderr,
      /deployments\.apps "app" already exists/,
    );
  });

  it('applies twice with a change, by client and by server, with conflicts and diffs', async () => {
    const space = await cluster.space('applied');
    const config = (data: Record<string, string>): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings' },
      data,
    });
    assert.match(await space.apply(config({ a: '1', b: '1' })), /configmap\/settings created/);
    assert.match(await space.apply(config({ a: '1', b: '1' })), /unchanged/);
    const diff = await space.outcome('diff -f -', { input: JSON.stringify(config({ a: '2' })) });
    assert.equal(diff.code, 1, diff.stderr);
    assert.match(diff.stdout, /^-  a: "1"$/m);
    assert.match(diff.stdout, /^\+  a: "2"$/m);
    assert.match(await space.apply(config({ a: '2' })), /configured/);
    assert.equal(
      await space.kubectl('get configmap settings -o jsonpath={.data}'),
      '{"a":"2"}',
      'what is no longer applied is removed',
    );

    const owned = (data: Record<string, string>): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'owned' },
      data,
    });
    assert.match(
      await space.apply(owned({ x: '1', y: '1' }), '--server-side', '--field-manager=first'),
      /serverside-applied/,
    );
    await space.apply(owned({ x: '2' }), '--server-side', '--field-manager=first');
    assert.equal(await space.kubectl('get configmap owned -o jsonpath={.data}'), '{"x":"2"}');
    const conflict = await space.outcome('apply --server-side --field-manager=second -f -', {
      input: JSON.stringify(owned({ x: '3' })),
    });
    assert.equal(conflict.code, 1);
    assert.match(conflict.stderr, /Apply failed with 1 conflict: conflict with "first".*: \.data\.x/);
    await space.apply(owned({ x: '3' }), '--server-side', '--field-manager=second', '--force-conflicts');
    assert.equal(await space.kubectl('get configmap owned -o jsonpath={.data.x}'), '3');
    await space.apply(config({ a: '3' }), '--server-side', '--force-conflicts');
    assert.match(await space.apply(config({ a: '3' }), '--dry-run=server'), /server dry run/);
    await space.kubectl('replace --force -f -', { input: JSON.stringify(config({ z: '1' })) });
    assert.match(await space.kubectl('create configmap other --from-literal=k=v --dry-run=client -o yaml'), /k: v/);
  });

  it('deletes a namespace with all its content', async () => {
    const space = await cluster.space('doomed');
    await space.kubectl(`create deployment web --image=${images.test} --replicas=2`);
    await space.kubectl('expose deployment web --port=80');
    await space.kubectl('create secret generic s --from-literal=a=b');
    await space.kubectl('rollout status deployment/web --timeout=120s');
    await space.kubectl('delete namespace doomed --timeout=120s');
    assert.match((await cluster.outcome('get namespace doomed')).stderr, /namespaces "doomed" not found/);
    assert.equal(await cluster.kubectl('get pods,replicasets,endpointslices -n doomed -o name'), '');
  });
});

const servingPatch = {
  spec: {
    strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 2 } },
    template: {
      spec: {
        // Long enough for every proxy to remove a pod from its rules and for a probe to be answered on a busy machine.
        terminationGracePeriodSeconds: 60,
        containers: [
          {
            name: 'test',
            env: [{ name: 'DRAIN_SECONDS', value: '6' }],
            readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 30 },
          },
        ],
      },
    },
  },
};

interface DeploymentFacts {
  readonly metadata: { readonly labels: Record<string, string> };
  readonly spec: {
    readonly minReadySeconds: number;
    readonly template: { readonly spec: { readonly containers: { name: string; image: string; env: unknown }[] } };
  };
}

async function names(space: Space, ...args: string[]): Promise<string[]> {
  const text = await space.kubectl(['get', ...args, '-o', 'jsonpath={.items[*].metadata.name}']);
  return text.split(' ').filter((name) => name !== '');
}

async function conditions(space: Space, object: string): Promise<Condition[]> {
  const text = await space.kubectl(`get ${object} -o jsonpath={.status.conditions}`);
  return text === '' ? [] : (JSON.parse(text) as Condition[]);
}
