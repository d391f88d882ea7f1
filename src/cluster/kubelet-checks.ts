/** What a kubelet looks at before it starts, and what it does to its own process. Upstream: run in cmd/kubelet/app/server.go. */
import type { KubeletConfigurationV1Beta1 } from '../kubelet/configuration/fields.ts';
import type { Platform } from '../platform/platform.ts';
import { PreflightError } from './preflight.ts';

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
  if (config.kubeletCgroups === '') return;
  await cgroups.create(config.kubeletCgroups, {});
  await cgroups.addProcess(config.kubeletCgroups, pid);
}
