/** Devices and exclusive CPUs for containers, by a kubelet process on real containerd. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Pod, PodResourceClaim } from '../../src/api/gen/core-v1.ts';
import {
  DeviceClasses,
  Nodes,
  Pods,
  ResourceClaims,
  ResourceClaimTemplates,
  ResourceSlices,
} from '../../src/api/gen/resources.ts';
import { createGrpcConnector } from '../../src/grpc/grpc-connector.ts';
import { createSocketServer } from '../../src/grpc/socket-server.ts';
import { devicePluginTable } from '../../src/kubelet/device-manager/device-plugin-api.ts';
import { draTable } from '../../src/kubelet/dra-manager/dra-api.ts';
import { registrationTable } from '../../src/kubelet/plugin-manager/registration-client.ts';
import { createNodeClock } from '../../src/platform/node/clock.ts';
import { createListenRpc } from '../../src/platform/node/rpc-server.ts';
import { createNodeLog } from '../../src/platform/node/log.ts';
import type { RpcServer } from '../../src/platform/rpc.ts';
import { TEST_IMAGE_NAME } from './fixtures/containerd.ts';
import { startKubeletMachine, until, type KubeletMachine } from './fixtures/kubelet-machine.ts';
import type { Running } from './fixtures/programs.ts';

const RESOURCE = 'example.com/null';

describe('devices and CPUs', () => {
  let machine: KubeletMachine;
  let kubelet: Running;
  let plugin: RpcServer | undefined;
  const servers: RpcServer[] = [];

  before(async () => {
    machine = await startKubeletMachine();
    kubelet = await startKubelet();
  });
  after(async () => {
    await plugin?.close();
    for (const server of servers) await server.close();
    await machine?.close();
  });

  async function startKubelet(...more: string[]): Promise<Running> {
    const kubeconfig = await machine.credentials('devices', 'system:node:devices', 'system:nodes');
    const flags = ['--kubeconfig', kubeconfig, '--hostname-override', 'devices', '--node-ip', '127.0.0.1'];
    return machine.kubelet('devices', ...flags, '--cert-dir', join(machine.directory, 'pki'), ...more);
  }

  /** A device plugin with two devices, both of them /dev/null. */
  async function startPlugin(): Promise<RpcServer> {
    const directory = join(machine.directory, 'devices', 'device-plugins');
    const ended = new AbortController();
    await until('the kubelet takes plugins', async () => existsSync(`${directory}/kubelet.sock`), kubelet.stderr);
    const serve = createSocketServer(createListenRpc(createNodeLog()), createNodeClock());
    const server = await serve(`${directory}/null.sock`, [devicePluginTable], {
      'v1beta1.DevicePlugin/GetDevicePluginOptions': () => ({}),
      'v1beta1.DevicePlugin/ListAndWatch': async function* (_request: never, signal: AbortSignal) {
        yield { devices: ['one', 'two'].map((ID) => ({ ID, health: 'Healthy' })) };
        await new Promise<void>((resolve) =>
          AbortSignal.any([signal, ended.signal]).addEventListener('abort', () => resolve()),
        );
      },
      'v1beta1.DevicePlugin/Allocate': ({ containerRequests }: { containerRequests: { devicesIds: string[] }[] }) => ({
        containerResponses: containerRequests.map(({ devicesIds }) => ({
          envs: { NULL_DEVICES: devicesIds.join(',') },
          devices: [{ containerPath: '/dev/own-null', hostPath: '/dev/null', permissions: 'rw' }],
        })),
      }),
    });
    const { clock } = machine.containerd.platform;
    const caller = createGrpcConnector(clock)(`${directory}/kubelet.sock`, [devicePluginTable]);
    const request = { version: 'v1beta1', endpoint: 'null.sock', resourceName: RESOURCE };
    await until('the kubelet takes the plugin', async () =>
      caller.unary({ service: 'v1beta1.Registration', method: 'Register' }, request, { timeoutMs: 5_000 }),
    );
    caller.disconnect();
    return {
      async close() {
        ended.abort();
        await server.close();
      },
    };
  }

  async function create(
    name: string,
    script: string,
    amounts: Record<string, string>,
    resourceClaims: PodResourceClaim[] = [],
  ): Promise<void> {
    await machine.plane.admin.resource(Pods).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name },
      spec: {
        tolerations: [{ operator: 'Exists' }],
        terminationGracePeriodSeconds: 0,
        resourceClaims,
        containers: [
          {
            name: 'app',
            image: TEST_IMAGE_NAME,
            command: ['/bin/sh', '-c', `${script}; exec busybox sleep 1000`],
            resources: { limits: amounts, claims: resourceClaims.map(({ name: claim }) => ({ name: claim })) },
          },
        ],
      },
    });
  }

  const pod = (name: string): Promise<Pod> => machine.plane.admin.resource(Pods).get({ namespace: 'default', name });

  const isReady = async (name: string): Promise<Pod | false> => {
    const found = await pod(name);
    return (found.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True') && found;
  };

  const allocatable = (amount: string): Promise<unknown> =>
    until(
      `the node has ${amount}`,
      async () =>
        (await machine.plane.admin.resource(Nodes).get({ name: 'devices' })).status?.allocatable?.[RESOURCE] === amount,
      kubelet.stderr,
    );

  async function logsOf(name: string): Promise<string> {
    const logs = await machine.plane.kubectl(['logs', name]);
    assert.equal(logs.code, 0, logs.stderr);
    return logs.stdout;
  }

  /** The first output of a pod, which may follow shortly after it is ready. */
  async function says(name: string, what: RegExp): Promise<void> {
    await until(`${name} says ${what}`, async () => what.test(await logsOf(name)), kubelet.stderr);
  }

  it('a plugin gives a pod its device, a second pod waits until a device is free', async () => {
    plugin = await startPlugin();
    await allocatable('2');
    await create('first', 'test -c /dev/own-null && echo "has $NULL_DEVICES"', { [RESOURCE]: '2', cpu: '100m' });
    await until('the pod is Ready', () => isReady('first'), kubelet.stderr);
    await says('first', /^has (one,two|two,one)$/);
    await create('second', 'echo "has $NULL_DEVICES"', { [RESOURCE]: '1' });
    const waiting = await until('the pod waits', async () => {
      const found = await pod('second');
      return found.status?.conditions?.some(({ reason }) => reason === 'Unschedulable') && found;
    });
    assert.equal(waiting.status?.phase, 'Pending');
    assert.match(waiting.status?.conditions?.[0]?.message ?? '', /Insufficient example.com\/null/);
    assert.equal((await machine.plane.kubectl(['delete', 'pod', 'first', '--timeout=120s'])).code, 0);
    await until('the pod is Ready', () => isReady('second'), kubelet.stderr);
    await says('second', /^has (one|two)$/);
  });

  it('a pod keeps its device over a restart of the kubelet, before its plugin registers again', async () => {
    const before = (await pod('second')).status?.containerStatuses?.[0]?.containerID;
    kubelet.kill('SIGKILL');
    await kubelet.ended();
    await plugin!.close();
    kubelet = await startKubelet();
    await allocatable('0');
    plugin = await startPlugin();
    await allocatable('2');
    const after = (await pod('second')).status;
    assert.equal(after?.phase, 'Running', after?.message);
    assert.equal(after?.containerStatuses?.[0]?.containerID, before);
    assert.equal(after?.containerStatuses?.[0]?.restartCount, 0);
  });

  it('a claim from a template is allocated, prepared by its driver, and deallocated', async () => {
    const directory = join(machine.directory, 'devices');
    const driver = 'gpu.example.com';
    const calls: string[] = [];
    type Claims = { claims: { uid: string }[] };
    const answer = (what: string, { claims }: Claims, value: object): object => {
      calls.push(what);
      return { claims: Object.fromEntries(claims.map(({ uid }) => [uid, value])) };
    };
    const dra = 'k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin';
    const device = { poolName: 'devices', deviceName: 'one', requestNames: ['card'], cdiDeviceIds: [] };
    const endpoint = `${directory}/dra.sock`;
    const serve = createSocketServer(createListenRpc(createNodeLog()), createNodeClock());
    servers.push(
      await serve(endpoint, [draTable('v1')], {
        [`${dra}/NodePrepareResources`]: (request: Claims) => answer('prepare', request, { devices: [device] }),
        [`${dra}/NodeUnprepareResources`]: (request: Claims) => answer('unprepare', request, {}),
      }),
      await serve(`${directory}/plugins_registry/gpu.sock`, [registrationTable], {
        'pluginregistration.Registration/GetInfo': () => ({
          type: 'DRAPlugin',
          name: driver,
          endpoint,
          supportedVersions: ['v1.DRAPlugin'],
        }),
        'pluginregistration.Registration/NotifyRegistrationStatus': () => ({}),
      }),
    );
    const { admin } = machine.plane;
    await admin.resource(DeviceClasses).create({
      metadata: { name: 'gpus' },
      spec: { selectors: [{ cel: { expression: `device.attributes["${driver}"].model == "new"` } }] },
    });
    await admin.resource(ResourceSlices).create({
      metadata: { name: 'devices-gpus' },
      spec: {
        driver,
        nodeName: 'devices',
        pool: { name: 'devices', generation: 1, resourceSliceCount: 1 },
        devices: [
          { name: 'zero', attributes: { model: { string: 'old' } } },
          { name: 'one', attributes: { model: { string: 'new' } } },
        ],
      },
    });
    await admin.resource(ResourceClaimTemplates).create({
      metadata: { namespace: 'default', name: 'cards' },
      spec: { spec: { devices: { requests: [{ name: 'card', exactly: { deviceClassName: 'gpus' } }] } } },
    });
    await create('claimed', 'true', {}, [{ name: 'card', resourceClaimTemplateName: 'cards' }]);
    await until('the pod is Ready', () => isReady('claimed'), kubelet.stderr);
    const claims = admin.resource(ResourceClaims);
    const [claim] = (await claims.list({ namespace: 'default' })).items;
    assert.equal(claim?.status?.allocation?.devices?.results?.[0]?.device, 'one');
    assert.equal(claim?.status?.reservedFor?.[0]?.name, 'claimed');
    // The kubelet repeats a call whose answer arrived after the timeout.
    assert.deepEqual([...new Set(calls)], ['prepare']);
    assert.equal((await machine.plane.kubectl(['delete', 'pod', 'claimed', '--timeout=120s'])).code, 0);
    await until('the claim is gone', async () => (await claims.list({ namespace: 'default' })).items.length === 0);
    await until('it was given back', async () => calls.includes('unprepare'), kubelet.stderr);
  });

  it('a guaranteed pod has its CPU exclusively; other pods are moved off it', async () => {
    const cpus = 'busybox grep Cpus_allowed_list /proc/self/status';
    const forever = `while true; do ${cpus}; busybox sleep 0.2; done`;
    const last = async (name: string): Promise<string> => (await logsOf(name)).split('\n').at(-1)!.replace(/\s+/, ' ');
    kubelet.kill('SIGKILL');
    await kubelet.ended();
    kubelet = await startKubelet('--cpu-manager-policy=static', '--reserved-cpus=0');
    await create('shared', forever, {});
    await until('the shared pod is Ready', () => isReady('shared'), kubelet.stderr);
    await until('it may run everywhere', async () => (await last('shared')) === 'Cpus_allowed_list: 0-1');
    await create('alone', forever, { cpu: '1', memory: '64Mi' });
    await until('the pod is Ready', () => isReady('alone'), kubelet.stderr);
    await until('it has its own', async () => (await last('alone')) === 'Cpus_allowed_list: 1', kubelet.stderr);
    await until(
      'the other has the rest',
      async () => (await last('shared')) === 'Cpus_allowed_list: 0',
      kubelet.stderr,
    );
    assert.equal((await machine.plane.kubectl(['delete', 'pod', 'alone', '--timeout=120s'])).code, 0);
    await until('it is shared again', async () => (await last('shared')) === 'Cpus_allowed_list: 0-1', kubelet.stderr);
  });
});
