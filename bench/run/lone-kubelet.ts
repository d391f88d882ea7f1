// A kubelet in a separate process (`keelson kubelet`, from the bundle) with many pods: its cost at rest, the delay until a
// changed config map is in its file, and until a crash is seen. The control plane is in this process, so that the kubelet's
// figures are separate; it has its own containerd.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Pod } from '../../src/api/gen/core-v1.ts';
import { ConfigMaps, Pods } from '../../src/api/gen/resources.ts';
import { TEST_IMAGE_NAME } from '../../test/integration/fixtures/containerd.ts';
import { startKubeletMachine, type KubeletMachine } from '../../test/integration/fixtures/kubelet-machine.ts';
import type { Running } from '../../test/integration/fixtures/programs.ts';
import { memoryTogetherMb, sampleProcesses } from './processes.ts';
import type { Figure } from './report.ts';
import { median, sleep, until } from './wait.ts';

const NODE_NAME = 'lone';
const NAMESPACE = 'default';
const DEBUG_VERBOSITY = 4;
/** Memory is released at an idle check, every 10 s; the first sync of all pods has ended by then, too. */
const settleMs = { quick: 25_000, full: 75_000 };
const sampleMs = { quick: 10_000, full: 60_000 };

/** The options of the measurement. */
export interface LoneKubeletOptions {
  readonly pods: number;
  readonly quick: boolean;
}

/** Measures it; leaves nothing behind. */
export async function loneKubeletFigures(options: LoneKubeletOptions): Promise<readonly Figure[]> {
  const machine = await startKubeletMachine();
  try {
    return [...(await atRest(machine, options)), ...(await reactions(machine, options.quick ? 3 : 7))];
  } finally {
    await machine.close();
  }
}

async function startKubelet(machine: KubeletMachine, ...flags: string[]): Promise<Running> {
  const kubeconfig = await machine.credentials(NODE_NAME, `system:node:${NODE_NAME}`, 'system:nodes');
  return machine.kubelet(
    NODE_NAME,
    ...['--kubeconfig', kubeconfig, '--hostname-override', NODE_NAME, '--node-ip', '127.0.0.1'],
    ...['--cert-dir', join(machine.directory, 'pki'), ...flags],
  );
}

async function atRest(machine: KubeletMachine, { pods, quick }: LoneKubeletOptions): Promise<readonly Figure[]> {
  const kubelet = await startKubelet(machine);
  const process = { pid: kubelet.pid, dataDir: machine.directory };
  for (let index = 0; index < pods; index++) await machine.plane.admin.resource(Pods).create(pod(`rest-${index}`));
  await until(async () => (await readyPods(machine)) === pods, {
    what: `${pods} Ready pods`,
    timeoutMs: 60_000,
    everyMs: 100,
  });
  await sleep(quick ? settleMs.quick : settleMs.full);
  const processes = await sampleProcesses(process, quick ? sampleMs.quick : sampleMs.full);
  const sum = (read: (each: (typeof processes)[number]) => number): number =>
    processes.reduce((total, each) => total + read(each), 0);
  const [own] = processes;
  const figures: Figure[] = [
    {
      key: 'loneCpu',
      what: `a lone kubelet, ${pods} pods at rest: CPU of one core`,
      value: sum((each) => each.cpuPercent),
      unit: '%',
    },
    { key: 'loneMemory', what: '  resident memory', value: own?.residentMb ?? Number.NaN, unit: 'MB' },
    { key: 'loneAnonymous', what: '  of it its own pages', value: own?.anonymousMb ?? Number.NaN, unit: 'MB' },
    {
      key: 'loneTogether',
      what: '  with its spawner, shared files once',
      value: memoryTogetherMb(processes),
      unit: 'MB',
    },
  ];
  await removePods(machine);
  kubelet.kill();
  await kubelet.ended();
  return figures;
}

async function readyPods({ plane }: KubeletMachine): Promise<number> {
  const { items } = await plane.admin.resource(Pods).list({ namespace: NAMESPACE });
  return items.filter(isReady).length;
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
}

async function removePods({ plane }: KubeletMachine): Promise<void> {
  const pods = plane.admin.resource(Pods);
  const { items } = await pods.list({ namespace: NAMESPACE });
  await Promise.all(items.map(({ metadata }) => pods.delete({ namespace: NAMESPACE, name: metadata.name ?? '' })));
  const none = async (): Promise<boolean> => (await pods.list({ namespace: NAMESPACE })).items.length === 0;
  await until(none, { what: 'the end of all pods', timeoutMs: 60_000, everyMs: 50 });
}

function pod(name: string, changes: Partial<NonNullable<Pod['spec']>> = {}, mounts = {}): Pod {
  const command = ['/bin/sh', '-c', 'trap "exit 0" TERM; busybox sleep 100000 & wait'];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: NAMESPACE, name },
    spec: {
      nodeName: NODE_NAME,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'c', image: TEST_IMAGE_NAME, command, ...mounts }],
      ...changes,
    },
  };
}

/** The delays with which the kubelet follows changes; its log has the time at which its loop received a crash. */
async function reactions(machine: KubeletMachine, rounds: number): Promise<readonly Figure[]> {
  const kubelet = await startKubelet(machine, '--v', String(DEBUG_VERBOSITY));
  const maps = machine.plane.admin.resource(ConfigMaps);
  await maps.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: NAMESPACE, name: 'settings' },
    data: { key: 'first' },
  });
  const volumes = [{ name: 'settings', configMap: { name: 'settings' } }];
  const volumeMounts = [{ name: 'settings', mountPath: '/settings' }];
  const created = await machine.plane.admin.resource(Pods).create(pod('reacts', { volumes }, { volumeMounts }));
  await until(async () => (await readyPods(machine)) === 1, { what: 'a Ready pod', timeoutMs: 60_000, everyMs: 20 });
  const file = join(
    ...[machine.directory, NODE_NAME, 'pods', created.metadata.uid ?? ''],
    ...['volumes', 'kubernetes.io~configmap', 'settings', 'key'],
  );
  const written: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now();
    await maps.patch(
      { namespace: NAMESPACE, name: 'settings' },
      { type: 'merge', patch: { data: { key: `value ${round}` } } },
    );
    await until(async () => readFileSync(file, 'utf8') === `value ${round}`, {
      what: 'the new value in the file',
      timeoutMs: 60_000,
      everyMs: 2,
    });
    written.push(performance.now() - startedMs);
  }
  const crashes: Crash[] = [];
  for (let round = 0; round < rounds; round++) crashes.push(await crash(machine, kubelet, `crash-${round}`));
  await removePods(machine);
  kubelet.kill();
  await kubelet.ended();
  const of = (read: (each: Crash) => number): number => median(crashes.map(read));
  return [
    { key: 'configMapToFile', what: 'a changed config map, until the file has it', value: median(written), unit: 'ms' },
    {
      key: 'crashFloor',
      what: 'a crashed container, until CRI says so (the floor)',
      value: of((each) => each.criMs),
      unit: 'ms',
    },
    {
      key: 'crashSeen',
      what: 'a crashed container, until the kubelet has seen it',
      value: of((each) => each.seenMs),
      unit: 'ms',
    },
    {
      key: 'crashTold',
      what: 'a crashed container, until the API says so',
      value: of((each) => each.toldMs),
      unit: 'ms',
    },
  ];
}

/** In milliseconds since the crash. */
interface Crash {
  readonly criMs: number;
  readonly seenMs: number;
  readonly toldMs: number;
}

/** A pod whose process is killed. */
async function crash(machine: KubeletMachine, kubelet: Running, name: string): Promise<Crash> {
  const pods = machine.plane.admin.resource(Pods);
  const created = await pods.create(pod(name, { restartPolicy: 'Never' }));
  const ready = async (): Promise<boolean> => isReady(await pods.get({ namespace: NAMESPACE, name }));
  await until(ready, { what: 'a Ready pod', timeoutMs: 60_000, everyMs: 20 });
  await sleep(500); // the work after its start has ended
  const { status } = await pods.get({ namespace: NAMESPACE, name });
  const containerId = (status?.containerStatuses?.[0]?.containerID ?? '').replace('containerd://', '');
  const { runtime } = machine.containerd.client;
  const { info } = await runtime.containerStatus({ containerId, verbose: true });
  const { pid } = JSON.parse(info['info'] ?? '{}') as { pid: number };
  const told = untilTold(machine, name);
  const killedAtMs = Date.now();
  const startedMs = performance.now();
  process.kill(pid, 'SIGKILL');
  const exited = async (): Promise<boolean> =>
    (await runtime.containerStatus({ containerId })).status?.state === 'CONTAINER_EXITED';
  const limits = { timeoutMs: 20_000, everyMs: 1 };
  await until(exited, { what: 'the end in CRI', ...limits });
  const criMs = performance.now() - startedMs;
  const toldMs = (await told) - startedMs;
  const died = (): number | undefined => diedAtMs(kubelet.stderr(), created.metadata.uid ?? '');
  await until(async () => died() !== undefined, { what: 'the end in the log', ...limits });
  return { criMs, seenMs: (died() ?? Number.NaN) - killedAtMs, toldMs };
}

async function untilTold({ plane }: KubeletMachine, name: string): Promise<number> {
  const options = { namespace: NAMESPACE, fieldSelector: `metadata.name=${name}` };
  for await (const events of plane.admin.resource(Pods).watch(options))
    for (const { object } of events)
      if (object.status?.containerStatuses?.[0]?.state?.terminated !== undefined) return performance.now();
  throw new Error('the watch ended');
}

/** The time at which the loop handled the end of a container of this pod, from its log. */
function diedAtMs(log: string, uid: string): number | undefined {
  const line = log.split('\n').find((each) => each.includes('"ContainerDied"') && each.includes(uid));
  return line === undefined ? undefined : Date.parse((JSON.parse(line) as { time: string }).time);
}
