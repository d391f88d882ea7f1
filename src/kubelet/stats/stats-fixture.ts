/** A stats provider over a simulated runtime with one pod, with cgroups and files that tests set. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ContainerStatus } from '../container/runtime.ts';
import { createStatsProvider } from './create-stats-provider.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: {
    containers: [{ name: 'app', resources: { limits: { cpu: '500m', memory: '64Mi' } } }],
    volumes: [
      { name: 'scratch', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'claim' } },
    ],
  },
  status: { startTime: '2026-01-01T00:00:00Z' },
};

export async function createFixture(
  options: { readonly podStats?: boolean; readonly volumeStatsPeriodMs?: number; readonly layersAt?: string } = {},
) {
  const { volumeStatsPeriodMs } = options;
  const platform = createSimPlatform();
  const state = { cpuNs: 5e9, podStatsAsked: 0, volumesAsked: 0, broken: false };
  const attributes = (attempt: number) => ({
    id: `c${attempt}`,
    metadata: { name: 'app', attempt },
    labels: { 'io.kubernetes.pod.uid': 'u1', 'io.kubernetes.container.name': 'app' },
    annotations: {},
  });
  const cri = {
    runtime: {
      async listContainerStats() {
        if (state.broken) throw new CriError('Unavailable', 'gone');
        const timestampMs = platform.clock.nowMs();
        const of = (attempt: number, cpuNs: number) => ({
          attributes: attributes(attempt),
          cpu: { timestampMs, usageCoreNanoSeconds: { value: cpuNs } },
          memory: { timestampMs, workingSetBytes: { value: 1000 }, usageBytes: { value: 2000 } },
          writableLayer: { timestampMs, usedBytes: { value: 300 }, inodesUsed: { value: 3 } },
        });
        const labels = { 'io.kubernetes.pod.uid': 'u1', 'io.kubernetes.container.name': 'setup' };
        const ended = { attributes: { id: 'init', metadata: { name: 'setup', attempt: 0 }, labels, annotations: {} } };
        return { stats: [of(1, state.cpuNs), of(0, 1), ended] };
      },
      async listPodSandboxStats() {
        state.podStatsAsked++;
        if (options.podStats !== true) throw new CriError('Unimplemented', 'no');
        return {
          stats: [
            {
              attributes: { id: 's', labels: { 'io.kubernetes.pod.uid': 'u1' }, annotations: {} },
              linux: {
                containers: [],
                process: { timestampMs: 0, processCount: { value: 7 } },
                network: {
                  timestampMs: 0,
                  interfaces: [],
                  defaultInterface: { name: 'eth0', rxBytes: { value: 11 }, txBytes: { value: 22 } },
                },
              },
            },
          ],
        };
      },
    },
    images: {
      imageFsInfo: async () => ({
        imageFilesystems: [{ timestampMs: 0, fsId: { mountpoint: '/' }, usedBytes: { value: 12_345 } }],
        containerFilesystems: options.layersAt === undefined ? [] : [{ fsId: { mountpoint: options.layersAt } }],
      }),
    },
  } as unknown as CriRuntime;
  await platform.files.makeDir('/var/lib/kubelet');
  await platform.files.makeDir('/logs/default_web_u1/app');
  await platform.files.writeFile('/logs/default_web_u1/app/0.log', 'x'.repeat(50));
  const podDir = '/var/lib/kubelet/pods/u1';
  await platform.files.makeDir(`${podDir}/containers/app`);
  await platform.files.writeFile(`${podDir}/etc-hosts`, 'x'.repeat(20));
  await platform.files.writeFile(`${podDir}/containers/app/1a2b3c4d`, 'x'.repeat(7));
  await platform.files.makeDir('/proc/net');
  await platform.files.writeFile('/proc/stat', 'cpu  100 0 100 5000 10 0 0 0 0 0\ncpu0 1 1 1\n');
  await platform.cgroups.create('/kubepods/podu1', {});
  const use = (usedBytes: number) => ({
    usedBytes,
    capacityBytes: 0,
    availableBytes: 0,
    inodes: 0,
    inodesUsed: 1,
    inodesFree: 0,
  });
  const status = {
    containers: [
      { id: 'init', image: 'img', state: 'exited', startedAtMs: 1_767_225_500_000 },
      { id: 'c1', image: 'img', state: 'running', startedAtMs: 1_767_225_600_000 },
    ] as unknown as ContainerStatus[],
    sandboxes: [{ ready: true }],
  };
  const provider = createStatsProvider(
    {
      cri,
      platform,
      host: {
        nodeName: 'node-1',
        pods: () => [pod],
        podStatus: () => status as never,
        podByName: () => pod,
        podByUid: () => pod,
        healthProblems: () => [],
        configz: () => ({}),
        stepsOf: () => undefined,
        stateOf: () => undefined,
        activityOf: () => undefined,
      },
      volumes: {
        async volumeStats() {
          state.volumesAsked++;
          return new Map([
            ['scratch', use(4000)],
            ['data', use(9000)],
          ]);
        },
      },
      podCgroups: { rootName: '/kubepods', cgroupName: () => '/kubepods/podu1' },
    },
    {
      kubeletRoot: '/var/lib/kubelet',
      podLogsDir: '/logs',
      ...(volumeStatsPeriodMs !== undefined && { volumeStatsPeriodMs }),
    },
  );
  const setCgroup = (cpuUsageNs: number): void => {
    for (const name of ['/kubepods', '/kubepods/podu1']) {
      const group = platform.cgroups.groups.get(name)!;
      group.stats = { ...group.stats, cpuUsageNs, memoryWorkingSetBytes: 1500, pids: 4 };
    }
  };
  setCgroup(6e9);
  return { platform, provider, state, setCgroup, status };
}
