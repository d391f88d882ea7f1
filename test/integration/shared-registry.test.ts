/** `--registry` on two machines: an image pushed on one runs on the other, and only nodes can read it from outside. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { baseFiles } from '../../tools/demo-image.ts';
import { buildImage } from '../../tools/image-archive.ts';
import { createMachines, type Machine, type Machines } from './fixtures/machines.ts';

const NAME = 'localhost:5001/team/app';

describe('--registry of a server and an agent', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'keelson-shared-registry-'));
  let machines: Machines;
  let server: Machine;
  let agent: Machine;
  before(async () => {
    machines = await createMachines([0, 0]);
    [server, agent] = machines.list as [Machine, Machine];
    await server.keelson('server --node-name server --registry --detach');
    const command = await server.keelson('token create --print-join-command');
    await agent.keelson([
      'agent',
      ...command.trim().split(' ').slice(2),
      '--node-name',
      'agent',
      '--registry',
      '--detach',
    ]);
    await server.kubectl('wait --for=condition=Ready node --all --timeout=60s');
  });
  after(async () => {
    await machines?.remove();
    rmSync(scratch, { recursive: true, force: true });
  });

  const push = async (machine: Machine, tag: string, text: string): Promise<void> => {
    const path = join(scratch, 'image.tar');
    const files = [...baseFiles(), { path: 'text', kind: 'file' as const, content: text }];
    writeFileSync(
      path,
      buildImage({ name: `${NAME}:${tag}`, files, command: ['sleep', '1000'], environment: {} }).archive,
    );
    const ctr = ['-a', `/run/keelson/${machine.hash}/containerd.sock`, '-n', 'pushing', 'images'];
    await machine.must('ctr', [...ctr, 'import', '--no-unpack', path]);
    await machine.must('ctr', [...ctr, 'push', '--plain-http', `${NAME}:${tag}`]);
  };
  const runOn = async (node: string, pod: string, tag: string): Promise<string> => {
    const overrides = { spec: { nodeName: node, terminationGracePeriodSeconds: 0 } };
    await server.kubectl([
      'run',
      pod,
      `--image=${NAME}:${tag}`,
      `--overrides=${JSON.stringify(overrides)}`,
      '--image-pull-policy=Always',
    ]);
    await server.kubectl(`wait --for=condition=Ready pod/${pod} --timeout=60s`);
    return (await server.kubectl(`exec ${pod} -- cat /text`)).trim();
  };

  it('each runs images that were pushed on the other', async () => {
    await push(server, 'a', 'from the server');
    await push(agent, 'b', 'from the agent');
    assert.equal(await runOn('agent', 'a', 'a'), 'from the server');
    assert.equal(await runOn('server', 'b', 'b'), 'from the agent');
  });

  it('uses the latest push of a tag on any node', async () => {
    await push(server, 'moving', 'old');
    assert.equal(await runOn('agent', 'old', 'moving'), 'old');
    await push(agent, 'moving', 'new');
    assert.equal(await runOn('server', 'new', 'moving'), 'new');
  });

  it('is closed to others: the port to the network, the path of the kubelet to clients that are not nodes', async () => {
    assert.equal(await agent.fetch(`http://${server.address}:5001/v2/`), '');
    const url = `https://${server.address}:10250/keelson/registry/v2/team/app/manifests/a`;
    const status = (...more: string[]) =>
      agent.must('curl', ['-sk', '-o', '/dev/null', '-w', '%{http_code}', ...more, url]);
    assert.equal(await status(), '403');
    const token = (await server.kubectl('create token default')).trim();
    assert.equal(await status('-H', `Authorization: Bearer ${token}`), '403');
    const pair = `${agent.dataDir}/pki/kubelet-client-current.pem`;
    assert.equal(await status('--cert', pair), '200');
  });
});
