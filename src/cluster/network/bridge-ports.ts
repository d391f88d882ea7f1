/**
 * Disables IPv6 on the ports of the pods' bridge: they carry frames only, and the bridge itself is the pods' gateway
 * in both families. Otherwise the kernel would give each port a link-local address a second or two after its pod has
 * started, and remove it with the pod. Programs that watch the machine's addresses notice both: Chromium closes all
 * its connections each time.
 */
import { hasErrorCode } from '../../base/errors.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { Log } from '../../platform/log.ts';
import type { Platform } from '../../platform/platform.ts';
import { background } from '../../platform/unexpected.ts';

type Deps = Pick<Platform, 'files' | 'log'>;

export interface BridgePorts {
  /** Disables IPv6 on ports that have appeared since the last call. Never rejects. */
  update(): Promise<void>;
}

export function createBridgePorts({ files, log }: Deps, bridge: string): BridgePorts {
  const folder = `/sys/class/net/${bridge}/brif`;
  let treated = new Set<string>();
  let failed = false;
  const treat = async (port: string): Promise<void> => {
    const path = `/proc/sys/net/ipv6/conf/${port}/disable_ipv6`;
    try {
      await files.writeFile(path, '1');
    } catch (err) {
      // The pod has just ended, or the kernel has no IPv6.
      if (hasErrorCode(err, 'ENOENT', 'ENODEV', 'EINVAL') || failed) return;
      failed = true;
      log.warn('links of pods keep IPv6 addresses of their own, which ends connections of browsers on this machine', {
        path,
        err,
      });
    }
  };
  return {
    async update() {
      const ports = await files.readDir(folder).catch(() => []); // the bridge exists only while there are pods
      const fresh = ports.filter((port) => !treated.has(port));
      treated = new Set(ports);
      await Promise.all(fresh.map(treat));
    },
  };
}

/**
 * Wraps the runtime so that the ports of new sandboxes are updated before the kernel has announced an address.
 * Starting a sandbox does not wait for the update.
 */
export function withQuietPorts(cri: CriRuntime, ports: BridgePorts, log: Log): CriRuntime {
  const runPodSandbox: CriRuntime['runtime']['runPodSandbox'] = async (request, options) => {
    const answer = await cri.runtime.runPodSandbox(request, options);
    background(log, 'the links of pods were not looked through', ports.update());
    return answer;
  };
  return { ...cri, runtime: { ...cri.runtime, runPodSandbox } };
}
