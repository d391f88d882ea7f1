/**
 * Images from a real registry on loopback, pulled by a kubelet with its own containerd: without credentials, with those of pull
 * secrets and of the node, with a wrong password, and with a blob that the registry has lost.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ContainerStatus } from '../../src/api/gen/core-v1.ts';
import { Events, Pods, Secrets } from '../../src/api/gen/resources.ts';
import { closeAll } from './fixtures/close-all.ts';
import { joinedKubelet, type JoinedKubelet } from './fixtures/joined-kubelet.ts';
import { startKubeletMachine, until, type KubeletMachine } from './fixtures/kubelet-machine.ts';
import { registryUser, startRegistry, withoutRegistry, type Registry } from './fixtures/registry.ts';

const NODE = 'puller';

describe('images from a registry', { skip: withoutRegistry }, () => {
  let machine: KubeletMachine;
  let open: Registry;
  let closed: Registry;
  let kubelet: JoinedKubelet;
  const log = (): string => kubelet.log();

  before(async () => {
    machine = await startKubeletMachine();
    open = await startRegistry(join(machine.directory, 'open'));
    closed = await startRegistry(join(machine.directory, 'closed'), { auth: true });
    kubelet = await joinedKubelet(machine, NODE);
    kubelet.start();
    await kubelet.ready();
  });
  after(() =>
    closeAll([
      ['open registry', () => open?.stop()],
      ['closed registry', () => closed?.stop()],
      ['machine', () => machine?.close()],
    ]),
  );

  /** Every image has different content: containerd does not request blobs that it has. */
  const push = async (registry: Registry, path: string) => {
    const { architecture } = await machine.containerd.platform.host.info();
    const files = [
      { path: 'bin/busybox', mode: 0o755, content: readFileSync('/bin/busybox') },
      { path: 'name', mode: 0o644, content: Buffer.from(path) },
    ];
    return registry.push(path, '1', { architecture, files, env: ['PATH=/bin'], command: ['busybox', 'sleep', '1000'] });
  };
  const create = (name: string, image: string, { secret, policy }: { secret?: string; policy?: string } = {}) =>
    machine.plane.admin.resource(Pods).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name },
      spec: {
        nodeName: NODE,
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'app', image, ...(policy !== undefined && { imagePullPolicy: policy }) }],
        ...(secret !== undefined && { imagePullSecrets: [{ name: secret }] }),
      },
    });
  const status = async (name: string): Promise<ContainerStatus | undefined> =>
    (await machine.plane.admin.resource(Pods).get({ namespace: 'default', name })).status?.containerStatuses?.[0];
  const messages = async (name: string): Promise<string[]> =>
    (await machine.plane.admin.resource(Events).list({ namespace: 'default' })).items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  const said = (name: string, what: RegExp): Promise<string> =>
    until(
      `${name}: ${what}`,
      async () => {
        const found = await messages(name);
        const line = found.find((each) => what.test(each));
        if (line === undefined) throw new Error(found.join('\n'));
        return line;
      },
      log,
    );
  const runs = (name: string): Promise<ContainerStatus> =>
    until(
      `${name} runs`,
      async () => {
        const found = await status(name);
        if (found?.state?.running === undefined) throw new Error(JSON.stringify(found?.state));
        return found;
      },
      log,
    );
  const backsOff = (name: string, why: RegExp): Promise<unknown> =>
    until(
      `${name} backs off`,
      async () => {
        const waiting = (await status(name))?.state?.waiting;
        if (waiting?.reason !== 'ImagePullBackOff') throw new Error(JSON.stringify(waiting));
        assert.match(waiting.message ?? '', why);
        return true;
      },
      log,
    );
  const dockerConfig = (password: string): string => {
    const auth = Buffer.from(`${registryUser.username}:${password}`).toString('base64');
    return JSON.stringify({ auths: { [closed.host]: { auth } } });
  };
  const secret = (name: string, password: string) =>
    machine.plane.admin.resource(Secrets).create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'default', name },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(dockerConfig(password)).toString('base64') },
    });
  /** Escapes the characters of regular expressions. */
  const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

  it('are pulled without credentials from a registry without authentication', async () => {
    const { name, image } = await push(open, 'team/free');
    await create('free', name);
    const { image: shown, imageID } = await runs('free');
    assert.equal(shown, name);
    assert.equal(imageID, `${open.host}/team/free@${image.manifest.digest}`);
    await said('free', new RegExp(`^Normal Pulling: Pulling image "${quoted(name)}"$`));
    await said(
      'free',
      new RegExp(`^Normal Pulled: Successfully pulled image "${quoted(name)}" in .* including waiting`),
    );
  });

  it('are refused without credentials and with a wrong password, then retried with a back-off, with the reason', async () => {
    const { name } = await push(closed, 'team/refused');
    await secret('wrong', 'wrong');
    await create('without', name);
    await create('wrong', name, { secret: 'wrong' });
    const shown = quoted(name);
    const failed = `rpc error: code = .* failed to pull and unpack image "${shown}": failed to resolve reference "${shown}": .*`;
    for (const pod of ['without', 'wrong']) {
      const line = await said(pod, new RegExp(`^Warning Failed: Failed to pull image "${shown}": ${failed}$`));
      assert.match(line, pod === 'wrong' ? /401 Unauthorized/ : /authorization failed|401 Unauthorized/);
      await said(pod, /^Warning Failed: Error: ErrImagePull$/);
      await said(pod, new RegExp(`^Normal BackOff: Back-off pulling image "${shown}": ErrImagePull: `));
      await said(pod, /^Warning Failed: Error: ImagePullBackOff$/);
      await backsOff(pod, new RegExp(`^Back-off pulling image "${shown}": ErrImagePull: rpc error`));
    }
  });

  it("are pulled with a pull secret's credentials", async () => {
    const { name, image } = await push(closed, 'team/secret');
    await secret('right', registryUser.password);
    await create('secret', name, { secret: 'right' });
    assert.equal((await runs('secret')).imageID, `${closed.host}/team/secret@${image.manifest.digest}`);
  });

  it('that were pulled with a secret are available to its pods, also after a restart, and to no others', async () => {
    const { name } = await push(closed, 'team/shared');
    await create('owner', name, { secret: 'right' });
    await runs('owner');
    await kubelet.kill();
    kubelet.start();
    await kubelet.ready();
    await create('same', name, { secret: 'right', policy: 'IfNotPresent' });
    await runs('same');
    await said(
      'same',
      /^Normal Pulled: Container image ".*" already present on machine and can be accessed by the pod$/,
    );
    await create('stranger', name, { policy: 'IfNotPresent' });
    await said('stranger', new RegExp(`^Warning Failed: Failed to pull image "${quoted(name)}": `));
    await create('never', name, { policy: 'Never' });
    await said('never', /^Warning ErrImageNeverPull: Container image ".*" is not present with pull policy of Never$/);
    await create('other', name, { secret: 'wrong', policy: 'IfNotPresent' });
    await said('other', new RegExp(`^Warning Failed: Failed to pull image "${quoted(name)}": .*401 Unauthorized`));
  });

  it("are pulled with the node's own credentials, which are read at each pull", async () => {
    const { name } = await push(closed, 'team/node');
    await writeFile(join(machine.directory, NODE, 'config.json'), dockerConfig(registryUser.password));
    await create('node', name);
    await runs('node');
  });

  it('report which blob the registry has lost', async () => {
    const { name, image } = await push(open, 'team/lost');
    const [layer] = image.layers;
    await open.loseBlob(layer!);
    await create('lost', name);
    const line = await said('lost', new RegExp(`^Warning Failed: Failed to pull image "${quoted(name)}": `));
    assert.match(line, new RegExp(`${layer!.digest}.*not found`));
    await said('lost', /^Warning Failed: Error: ErrImagePull$/);
    await backsOff('lost', new RegExp(layer!.digest));
  });
});
