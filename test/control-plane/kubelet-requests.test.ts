/**
 * Requests of kubectl to kubelets through the API server: usage, logs, a node's own pages; a server of this test is the kubelet.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { after, before, test } from 'node:test';
import { until } from '../integration/fixtures/until.ts';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';

let plane: ControlPlaneFixture;
let kubelet: Server;
/** `<common name of the client> <path>` of each request. */
const asked: string[] = [];

const usage = (nanoCores: number, mebibytes: number): object => ({
  cpu: { time: '2026-01-01T00:00:00Z', usageNanoCores: nanoCores },
  memory: { time: '2026-01-01T00:00:00Z', workingSetBytes: mebibytes * 1024 * 1024 },
});

function answerTo(path: string): string | undefined {
  if (path.startsWith('/stats/summary'))
    return JSON.stringify({
      node: { nodeName: 'n1', ...usage(500_000_000, 1024) },
      pods: [
        {
          podRef: { name: 'web', namespace: 'default', uid: 'u' },
          containers: [
            { name: 'a', ...usage(20_000_000, 30) },
            { name: 'b', ...usage(5_000_000, 12) },
          ],
        },
      ],
    });
  if (path.startsWith('/containerLogs/default/web/a')) return 'one line\n';
  return path.startsWith('/configz') ? '{"kubeletconfig":{}}' : undefined;
}

before(async () => {
  plane = await startControlPlane({ without: ['pod-garbage-collector-controller', 'node-lifecycle-controller'] });
  const read = (name: string): Promise<string> => readFile(join(plane.directory, 'pki', name), 'utf8');
  const tls = { cert: await read('kubelet.crt'), key: await read('kubelet.key'), ca: plane.tls.ca };
  kubelet = createServer({ ...tls, requestCert: true, rejectUnauthorized: true }, (request, response) => {
    const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject;
    asked.push(`${String(CN)} ${request.url}`);
    const answer = answerTo(request.url ?? '');
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  await new Promise<void>((resolve) => kubelet.listen(0, '127.0.0.1', resolve));
  const { port } = kubelet.address() as AddressInfo;
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };
  const containers = ['a', 'b'].map((name) => ({ name, image: 'i' }));
  const web = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec: { nodeName: 'n1', containers } };
  for (const object of [node, web]) {
    const made = await plane.kubectl(['create', '-f', '-'], JSON.stringify(object));
    assert.equal(made.code, 0, made.stderr);
  }
  const patches: readonly [string, object][] = [
    [
      'node/n1',
      {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        allocatable: { cpu: '2', memory: '4Gi', pods: '10' },
        capacity: { cpu: '2', memory: '4Gi', pods: '10' },
        conditions: [{ type: 'Ready', status: 'True' }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    ],
    ['pod/web', { phase: 'Running' }],
  ];
  for (const [what, status] of patches) {
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
    const said = await plane.kubectl(['patch', what, ...patch]);
    assert.equal(said.code, 0, said.stderr);
  }
});
after(async () => {
  await plane.stop();
  kubelet.closeAllConnections();
  await new Promise((resolve) => kubelet.close(resolve));
});

test('kubectl top shows the usage of nodes and pods', async () => {
  const nodes = await until('usage of the node', async () => {
    const said = await plane.kubectl(['top', 'nodes']);
    return said.code === 0 && said.stdout;
  });
  assert.match(
    nodes,
    /^NAME\s+CPU\(cores\)\s+CPU\(%\)\s+MEMORY\(bytes\)\s+MEMORY\(%\)\s*\nn1\s+500m\s+25%\s+1024Mi\s+25%\s*$/,
  );
  const pods = await plane.kubectl(['top', 'pods']);
  assert.match(pods.stdout, /^NAME\s+CPU\(cores\)\s+MEMORY\(bytes\)\s*\nweb\s+25m\s+42Mi\s*$/, pods.stderr);
  const containers = await plane.kubectl(['top', 'pod', 'web', '--containers', '--no-headers']);
  assert.match(containers.stdout, /^web\s+a\s+20m\s+30Mi\s*\nweb\s+b\s+5m\s+12Mi\s*$/);
  assert.ok(asked.every((one) => one.startsWith('kube-apiserver-kubelet-client ')));
});

test('logs and pages of the node', async () => {
  const logs = await plane.kubectl(['logs', 'web', '-c', 'a']);
  assert.equal(logs.stdout, 'one line', logs.stderr);
  const page = await plane.kubectl(['get', '--raw', '/api/v1/nodes/n1/proxy/configz']);
  assert.equal(page.stdout, '{"kubeletconfig":{}}', page.stderr);
  const nothing = await plane.kubectl(['get', '--raw', '/api/v1/nodes/n1/proxy/nothing']);
  assert.match(nothing.stderr, /could not find the requested resource|not found/);
});
