/** The instance's own containerd: its supervisor with all paths and names of the instance. */
import { createContainerdSupervisor, type ContainerdSupervisor } from '../../cri/containerd/containerd-supervisor.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';

/** Makes the supervisor. Its `start` adopts a daemon that an earlier run left. */
export function createInstanceContainerd(
  platform: Platform,
  instance: Instance,
  cniBinDirs: readonly string[],
): ContainerdSupervisor {
  const { root, state, socket, config, log } = instance.containerd;
  return createContainerdSupervisor(
    { platform },
    {
      options: {
        rootDir: root,
        stateDir: state,
        socketPath: socket,
        // Plugins that users bring install themselves there.
        cniBinDir: instance.cni === 'none' ? '/opt/cni/bin' : (cniBinDirs[0] ?? '/opt/cni/bin'),
        cniConfDir: instance.cniConfig.confDir,
        registryConfigDir: `${instance.dataDir}/registries`,
        cgroupDriver: 'cgroupfs',
      },
      configFile: config,
      logFile: log,
    },
  );
}
