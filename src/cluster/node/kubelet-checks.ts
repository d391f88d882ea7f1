/** Checks before a kubelet starts, and settings of its own process. Upstream: run in cmd/kubelet/app/server.go. */
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import type { Platform } from '../../platform/platform.ts';
import { isAnyAddress } from '../instance/server-addresses.ts';
import { PreflightError } from '../preflight-error.ts';

/** The kernel's values that `protectKernelDefaults` asks for. */
const KERNEL_VALUES: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

/** Refuses machines the configuration does not allow. @throws PreflightError */
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

/** Refuses an address at which the API server does not look for the kubelet. @throws PreflightError */
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

/** The process's own out-of-memory score and cgroup. What the machine does not allow is logged, as upstream does. */
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

/** Most passes of moving processes, as they start others meanwhile. */
const MOVE_ROUNDS = 10;

/**
 * Moves what lies in the root cgroup, but for the first process and the kernel's own, to one of its own. Upstream:
 * ensureSystemCgroups in pkg/kubelet/cm.
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

/** In version 1 the hierarchy of devices counts, as upstream. */
async function rootProcesses(files: Platform['files'], version: 1 | 2): Promise<number[]> {
  const pids = (await files.readDir('/proc')).filter((entry) => /^\d+$/.test(entry) && entry !== '1').map(Number);
  const own = await Promise.all(
    pids.map(async (pid) => {
      try {
        await files.readLink(`/proc/${pid}/exe`); // The kernel's own have none.
        const lines = (await files.readText(`/proc/${pid}/cgroup`)).split('\n');
        return lines.some((line) => (version === 2 ? line === '0::/' : /^\d+:devices:\/$/.test(line)));
      } catch {
        return false; // It has ended.
      }
    }),
  );
  return pids.filter((_pid, at) => own[at]);
}
