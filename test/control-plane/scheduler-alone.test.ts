/**
 * `keelson scheduler` as a separate process, started as kubeadm starts upstream's: it leads, binds, and serves its health over
 * TLS.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../src/platform/node/free-port-fixture.ts';
import { createNodeNet } from '../../src/platform/node/net.ts';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';

describe('the scheduler alone', () => {
  let plane: ControlPlaneFixture;
  let scheduler: Running;
  let securePort = 0;
  const net = createNodeNet();
  const statusOf = async (path: string): Promise<number> => {
    const url = `https://127.0.0.1:${securePort}${path}`;
    const answer = await net.http({ method: 'GET', url, tls: { insecureSkipVerify: true } });
    answer.cancel();
    return answer.status;
  };
  before(async () => {
    plane = await startControlPlane({ components: false });
    securePort = await freePort();
    const conf = plane.kubeconfig;
    scheduler = start(process.execPath, [
      ...[keelsonProgram, 'scheduler', `--authentication-kubeconfig=${conf}`, `--authorization-kubeconfig=${conf}`],
      ...['--bind-address=127.0.0.1', `--kubeconfig=${conf}`, '--leader-elect=true', `--secure-port=${securePort}`],
    ]);
  });
  after(async () => {
    scheduler?.kill('SIGKILL');
    net.close();
    await plane?.stop();
  });

  test('binds pending pods', async () => {
    await plane.kubectl(['create', 'serviceaccount', 'default']); // no controller runs here
    const allocatable = { cpu: '4', memory: '8Gi', pods: '10' };
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1' },
      status: { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
    };
    const made = await plane.kubectl(['create', '-f', '-'], JSON.stringify(node));
    assert.equal(made.code, 0, made.stderr);
    await plane.kubectl(['taint', 'node', 'n1', 'node.kubernetes.io/not-ready:NoSchedule-']);
    assert.equal((await plane.kubectl(['run', 'web', '--image=web:1'])).code, 0);
    await until('a node', async () => {
      const { stdout } = await plane.kubectl(['get', 'pod', 'web', '-o', 'jsonpath={.spec.nodeName}']);
      return stdout === 'n1';
    }).catch((error: Error) => assert.fail(`${error.message}\n${scheduler.stdout()}${scheduler.stderr()}`));
    const lease = ['get', 'lease', 'kube-scheduler', '-n', 'kube-system', '-o', 'jsonpath={.spec.holderIdentity}'];
    assert.notEqual((await plane.kubectl(lease)).stdout, '');
  });

  test('health is public, metrics are not; it ends at a signal', async () => {
    assert.deepEqual(
      [await statusOf('/healthz'), await statusOf('/livez'), await statusOf('/metrics')],
      [200, 200, 403],
    );
    const url = `https://127.0.0.1:${securePort}/metrics`;
    const refused = await net.http({ method: 'GET', url, tls: { insecureSkipVerify: true } });
    let text = '';
    for await (const chunk of refused.body) text += Buffer.from(chunk).toString();
    assert.equal(
      (JSON.parse(text) as { message: string }).message,
      'forbidden: User "system:anonymous" cannot get path "/metrics"',
    );
    scheduler.kill('SIGTERM');
    assert.equal((await scheduler.ended()).code, 0);
  });
});
