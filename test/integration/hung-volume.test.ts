/**
 * A volume whose file system hangs blocks only its own pods: other pods start, the kubelet's server answers, the kubelet
 * restarts, and the pods can be deleted.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../src/api/gen/core-v1.ts';
import { Events, Pods } from '../../src/api/gen/resources.ts';
import { closeAll } from './fixtures/close-all.ts';
import { TEST_IMAGE_NAME } from './fixtures/containerd.ts';
import { mountHung, withoutFuse, type HungMount } from './fixtures/hung-mount.ts';
import { joinedKubelet, type JoinedKubelet } from './fixtures/joined-kubelet.ts';
import { startKubeletMachine, until, type KubeletMachine } from './fixtures/kubelet-machine.ts';

const NODE = 'hung';
/** More than the threads that Node.js has for file calls. */
const SUB_PATHS = 6;

describe('a volume that hangs', { skip: withoutFuse }, () => {
  let machine: KubeletMachine;
  let hung: HungMount;
  let kubelet: JoinedKubelet;
  const log = (): string => kubelet.log();

  before(async () => {
    machine = await startKubeletMachine();
    hung = await mountHung(join(machine.directory, 'volume'));
    kubelet = await joinedKubelet(machine, NODE);
    kubelet.start();
    await kubelet.ready();
  });
  after(() =>
    closeAll([
      ['hung mount', () => hung?.stop()],
      ['machine', () => machine?.close()],
    ]),
  );

  const pods = () => machine.plane.admin.resource(Pods);
  const create = (name: string, spec: Partial<NonNullable<Pod['spec']>>, subPath?: string): Promise<Pod> => {
    const volumeMounts = spec.volumes?.map((volume) => ({
      name: volume.name,
      mountPath: '/data',
      ...(subPath !== undefined && { subPath }),
    }));
    return pods().create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name },
      spec: {
        nodeName: NODE,
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: 'app',
            image: TEST_IMAGE_NAME,
            imagePullPolicy: 'IfNotPresent',
            command: ['busybox', 'sleep', '100000'],
            ...(volumeMounts && { volumeMounts }),
          },
        ],
        ...spec,
      },
    });
  };
  const ready = (name: string): Promise<unknown> =>
    until(
      `${name} is Ready`,
      async () => {
        const { status } = await pods().get({ namespace: 'default', name });
        return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
      },
      log,
    );
  const said = (name: string, what: RegExp): Promise<unknown> =>
    until(
      `${name}: ${what}`,
      async () => {
        const { items } = await machine.plane.admin.resource(Events).list({ namespace: 'default' });
        const lines = items
          .filter(({ involvedObject }) => involvedObject.name === name)
          .map(({ reason, message }) => `${reason}: ${message}`);
        if (!lines.some((line) => what.test(line))) throw new Error(lines.join('\n'));
        return true;
      },
      log,
    );
  const subPathPods = Array.from({ length: SUB_PATHS }, (_, index) => `sub-${index}`);

  it('blocks its own pods, which report it, and no other pods', async () => {
    const volumes = (type?: string) => [{ name: 'data', hostPath: { path: hung.path, ...(type && { type }) } }];
    await create('typed', { volumes: volumes('Directory') });
    for (const name of subPathPods) await create(name, { volumes: volumes() }, 'below/it');
    await said('typed', /^FailedMount: .* did not answer in 5 s: the fuse file system at .* hangs$/);
    for (const name of subPathPods)
      await said(name, /^Failed: Error: failed to prepare subPath for volumeMount "data" of container "app"/);
    await create('healthy', { volumes: [{ name: 'own', emptyDir: {} }] });
    await ready('healthy');
  });

  it('does not block the server of the kubelet', async () => {
    const summary = await machine.plane.kubectl(['get', '--raw', `/api/v1/nodes/${NODE}/proxy/stats/summary`]);
    assert.equal(summary.code, 0, summary.stderr);
    const { pods: told } = JSON.parse(summary.stdout) as { pods: { podRef: { name: string } }[] };
    assert.ok(told.some(({ podRef }) => podRef.name === 'healthy'));
    assert.deepEqual(await machine.plane.kubectl(['exec', 'healthy', '--', 'busybox', 'echo', 'hello']), {
      code: 0,
      stdout: 'hello',
      stderr: '',
    });
  });

  it('does not block the next start of the kubelet, nor pods that start after it', async () => {
    await kubelet.kill();
    kubelet.start();
    await kubelet.ready();
    await create('later', { volumes: [{ name: 'own', emptyDir: {} }] });
    await ready('later');
  });

  it('does not block the deletion of its pods', async () => {
    const all = ['typed', ...subPathPods, 'healthy', 'later'];
    for (const name of all) await pods().delete({ namespace: 'default', name });
    await until(
      'the pods are gone',
      async () => {
        const { items } = await pods().list({ namespace: 'default' });
        if (items.length > 0) throw new Error(items.map(({ metadata }) => metadata.name).join(', '));
        return true;
      },
      log,
    );
  });
});
