/**
 * Several `keelson scheduler` processes, each with the pods of its name: one with a policy file of the early releases, one with a
 * configuration whose extender is a web service.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Nodes, Pods, ServiceAccounts } from '../../src/api/gen/resources.ts';
import type { PodSpec } from '../../src/api/gen/core-v1.ts';
import { keelsonProgram, start, type Running } from '../integration/fixtures/programs.ts';
import { until } from '../integration/fixtures/until.ts';
import { startControlPlane, type ControlPlaneFixture } from './control-plane-fixture.ts';

describe('schedulers side by side', () => {
  let plane: ControlPlaneFixture;
  let extender: Server;
  /** Verb and pod of each call. */
  const asked: string[] = [];
  const running: Running[] = [];

  before(async () => {
    plane = await startControlPlane({ components: false });
    extender = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { Pod, NodeNames = [] } = JSON.parse(Buffer.concat(chunks).toString()) as {
          Pod: { metadata: { name: string } };
          NodeNames?: string[];
        };
        const verb = request.url?.split('/').at(-1) ?? '';
        asked.push(`${verb} ${Pod.metadata.name}`);
        const scores = NodeNames.map((Host) => ({ Host, Score: Host === 'n3' ? 10 : 0 }));
        const left = { NodeNames: NodeNames.filter((name) => name !== 'n1'), FailedNodes: { n1: 'not mine' } };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(verb === 'filter' ? left : scores));
      });
    });
    await new Promise<void>((resolve) => extender.listen(0, '127.0.0.1', resolve));
    const { admin } = plane;
    await admin.resource(ServiceAccounts).create({ metadata: { name: 'default', namespace: 'default' } });
    const allocatable = { cpu: '4', memory: '8Gi', pods: '10' };
    for (const name of ['n1', 'n2', 'n3']) {
      const labels = { disk: name === 'n2' ? 'fast' : 'slow' };
      const status = { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] };
      const made = await admin.resource(Nodes).create({ metadata: { name, labels }, status });
      const { taints: _, ...spec } = made.spec ?? {};
      await admin.resource(Nodes).update({ ...made, spec });
    }
  });
  after(async () => {
    for (const program of running) program.kill('SIGKILL');
    extender?.closeAllConnections();
    extender?.close();
    await plane?.stop();
  });

  function startScheduler(...flags: string[]): Running {
    const program = start(process.execPath, [
      ...[keelsonProgram, 'scheduler', `--kubeconfig=${plane.kubeconfig}`, '--secure-port=0', ...flags],
    ]);
    running.push(program);
    return program;
  }

  const create = async (name: string, spec: Partial<PodSpec>): Promise<unknown> =>
    plane.admin.resource(Pods).create({
      metadata: { name, namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'web:1' }], ...spec },
    });
  const nodeOf = async (name: string): Promise<string | undefined> =>
    (await plane.admin.resource(Pods).get({ namespace: 'default', name })).spec?.nodeName;
  const bound = (name: string): Promise<unknown> =>
    until(`${name} has a node`, async () => (await nodeOf(name)) !== undefined).catch((error: Error) =>
      assert.fail(`${error.message}\n${running.map((program) => program.stderr()).join('\n')}`),
    );

  test('each schedules the pods of its name: by a policy, by a web service; other pods stay pending', async () => {
    const policy = join(plane.directory, 'policy.json');
    const predicates = [{ name: 'MatchNodeSelector' }, { name: 'PodFitsResources' }];
    const priorities = [{ name: 'LeastRequestedPriority', weight: 1 }];
    await writeFile(policy, JSON.stringify({ kind: 'Policy', apiVersion: 'v1', predicates, priorities }));
    startScheduler(`--policy-config-file=${policy}`, '--scheduler-name=early', '--leader-elect=false');
    const config = join(plane.directory, 'scheduler.yaml');
    const { port } = extender.address() as AddressInfo;
    await writeFile(
      config,
      `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: { leaderElect: false }
profiles: [{ schedulerName: asking }]
extenders:
- urlPrefix: http://127.0.0.1:${port}/scheduler
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 5
  nodeCacheCapable: true
`,
    );
    startScheduler(`--config=${config}`);
    await create('nobody', {});
    await create('old', { schedulerName: 'early', nodeSelector: { disk: 'fast' } });
    await create('new', { schedulerName: 'asking' });
    await bound('old');
    await bound('new');
    assert.deepEqual([await nodeOf('old'), await nodeOf('new'), await nodeOf('nobody')], ['n2', 'n3', undefined]);
    assert.deepEqual([...new Set(asked)], ['filter new', 'prioritize new']);
  });

  test('a gated pod is bound when its gate is removed', async () => {
    await create('gated', { schedulerName: 'asking', schedulingGates: [{ name: 'example.com/quota' }] });
    await create('free', { schedulerName: 'asking' });
    await bound('free'); // It was created later, so the gated one was seen.
    assert.equal(await nodeOf('gated'), undefined);
    const patch = { spec: { schedulingGates: null } };
    await plane.admin.resource(Pods).patch({ namespace: 'default', name: 'gated' }, { type: 'merge', patch });
    await bound('gated');
  });
});
