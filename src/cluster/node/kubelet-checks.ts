/**
 * Checks of the machine before a kubelet starts, and the out-of-memory score and cgroup of its process. Upstream:
 * cmd/kubelet/app/server.go.
 */
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import type { Platform } from '../../platform/platform.ts';
import { isAnyAddress } from '../instance/server-addresses.ts';
import { PreflightError } from '../preflight-error.ts';

/** The kernel settings that `protectKernelDefaults` requires. */
const KERNEL_VALUES: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** Refuses machines that do not meet the configuration. @throws PreflightError */
export async function checkMachine(platform: Platform, config: KubeletConfigurationV1Beta1): Promise<void> {
  if (config.failCgroupV1 && platform.cgroups.version === 1)
    throw new PreflightError(
      'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
    );
  if (config.failSwapOn && (await platform.host.info()).swapBytes > 0)
    throw new PreflightError(
      'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
    );
  if (config.protectKernelDefaults) await checkKernel(platform);
}

/** Refuses a kubelet address at which the API server would not find the kubelet. @throws PreflightError */
export function checkKubeletAddress(address: string, nodeIps: readonly string[]): void {
  if (isAnyAddress(address) || nodeIps.includes(address)) return;
  throw new PreflightError(
    `the kubelet's address ${address} is none of its node's (${nodeIps.join(', ')}): the API server would not reach it`,
  );
}

async function checkKernel({ files }: Platform): Promise<void> {
  const problems: string[] = [];
  for (const [name, expected] of Object.entries(KERNEL_VALUES)) {
    const value = (await files.readText(`/proc/sys/${name}`)).trim();
    if (value !== expected)
      problems.push(`invalid kernel flag: ${name}, expected value: ${expected}, actual value: ${value}`);
  }
  if (problems.length > 0) throw new PreflightError(`[${problems.join(', ')}]`);
}

/** Sets the out-of-memory score and cgroup of the own process. Failures are logged, as upstream does. */
export async function placeProcess(
  { files, cgroups, log }: Platform,
  config: KubeletConfigurationV1Beta1,
  pid: number,
): Promise<void> {
  try {
    await files.writeFile('/proc/self/oom_score_adj', String(config.oomScoreAdj));
  } catch (error) {
    log.warn('Failed to apply OOM score', { score: config.oomScoreAdj, err: error });
  }
  if (config.kubeletCgroups !== '') {
    await cgroups.create(config.kubeletCgroups, {});
    await cgroups.addProcess(config.kubeletCgroups, pid);
  }
  if (config.systemCgroups !== '') await moveSystemProcesses({ files, cgroups, log }, config.systemCgroups);
}

/** The most passes of moving processes: they may start others meanwhile. */
const MOVE_ROUNDS = 10;

/**
 * Moves the processes of the root cgroup, except the first process and kernel threads, to a cgroup of their own.
 * Upstream: ensureSystemCgroups in pkg/kubelet/cm.
 */
async function moveSystemProcesses(
  { files, cgroups, log }: Pick<Platform, 'files' | 'cgroups' | 'log'>,
  name: string,
): Promise<void> {
  await cgroups.create(name, {});
  const failed = new Set<number>();
  for (let round = 0; round < MOVE_ROUNDS; round++) {
    const pids = (await rootProcesses(files, cgroups.version)).filter((pid) => !failed.has(pid));
    if (pids.length === 0) return;
    for (const pid of pids)
      await cgroups.addProcess(name, pid).catch((error: unknown) => {
        failed.add(pid);
        log.warn('Failed to move a process to the system cgroup', { pid, cgroup: name, err: error });
      });
  }
}

/** With cgroup version 1, those of the devices hierarchy, as upstream. */
async function rootProcesses(files: Platform['files'], version: 1 | 2): Promise<number[]> {
  const pids = (await files.readDir('/proc')).filter((entry) => /^\d+$/.test(entry) && entry !== '1').map(Number);
  const own = await Promise.all(
    pids.map(async (pid) => {
      try {
        await files.readLink(`/proc/${pid}/exe`); // fails for kernel threads
        const lines = (await files.readText(`/proc/${pid}/cgroup`)).split('\n');
        return lines.some((line) => (version === 2 ? line === '0::/' : /^\d+:devices:\/$/.test(line)));
      } catch {
        return false; // the process has ended
      }
    }),
  );
  return pids.filter((_pid, at) => own[at]);
}
