/**
 * The cgroup driver of a kubelet: cgroupfs or systemd. Kubelet and runtime must use the same, so a runtime that
 * reports its driver takes precedence over the configuration. Upstream: getCgroupDriverFromCRI in
 * cmd/kubelet/app/server.go (gate KubeletCgroupDriverFromCRI). Differs: when the runtime does not answer yet, the
 * configuration is used instead of ending the kubelet.
 */
import { isCriCode } from '../../cri/cri-error.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { KubeletConfigurationV1Beta1 } from '../../kubelet/configuration/fields.ts';
import type { Cgroups } from '../../platform/cgroups.ts';
import type { Platform } from '../../platform/platform.ts';
import { PreflightError } from '../preflight-error.ts';

export interface CgroupDriverDeps {
  readonly platform: Pick<Platform, 'cgroups' | 'clock' | 'log' | 'net'>;
  readonly cri: { readonly runtime: Pick<CriRuntime['runtime'], 'runtimeConfig'> };
}

const ATTEMPTS = 3;
const RETRY_MS = 500;
const ASK_TIMEOUT_MS = 2_000;

/**
 * The pods' cgroups by the driver, until the signal aborts. @throws PreflightError when systemd is the driver and
 * cannot be reached
 */
export async function cgroupsByDriver(
  deps: CgroupDriverDeps,
  config: KubeletConfigurationV1Beta1,
  signal: AbortSignal,
): Promise<Cgroups> {
  const { platform } = deps;
  if ((await driverOf(deps, config)) !== 'systemd') return platform.cgroups;
  const { createSystemdCgroups } = await import('../../kubelet/cgroups/systemd-cgroups.ts');
  const { createSystemBus } = await import('../../kubelet/dbus/system-bus.ts');
  // The kubelet runs as root.
  const bus = createSystemBus(platform, { uid: 0, signal });
  await bus().catch((error: Error) => {
    throw new PreflightError(`cgroup driver systemd: the system bus cannot be reached: ${error.message}`);
  });
  return createSystemdCgroups({ cgroups: platform.cgroups, clock: platform.clock, bus });
}

async function driverOf({ platform, cri }: CgroupDriverDeps, config: KubeletConfigurationV1Beta1): Promise<string> {
  const { clock, log } = platform;
  const configured = config.cgroupDriver;
  for (let attempt = 1; ; attempt++) {
    try {
      const { linux } = await cri.runtime.runtimeConfig({}, { timeoutMs: ASK_TIMEOUT_MS });
      if (linux === undefined) return configured;
      const received = linux.cgroupDriver === 'SYSTEMD' ? 'systemd' : 'cgroupfs';
      if (received !== configured)
        log.info('Using cgroup driver setting received from the CRI runtime', { received, configured });
      return received;
    } catch (error) {
      if (isCriCode(error, 'Unimplemented')) {
        log.debug('CRI implementation does not tell its cgroup driver, the configuration holds', { configured });
        return configured;
      }
      if (attempt === ATTEMPTS) {
        log.warn('The runtime cannot be asked for its cgroup driver, the configuration holds', {
          configured,
          err: error,
        });
        return configured;
      }
      await clock.sleep(RETRY_MS);
    }
  }
}
