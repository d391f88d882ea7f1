/** Configures the supervisor of the instance's own containerd with the instance's paths and names. */
import { createContainerdSupervisor, type ContainerdSupervisor } from '../../cri/containerd/containerd-supervisor.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import type { RegistryAuth } from '../mirrors/mirror.ts';

/** The supervisor's `start` adopts a daemon that an earlier run left running. */
export function createInstanceContainerd(
  platform: Platform,
  instance: Instance,
  cniBinDirs: readonly string[],
  registryAuth: Readonly<Record<string, RegistryAuth>> = {},
): ContainerdSupervisor {
  const { root, state, socket, config, log } = instance.containerd;
  return createContainerdSupervisor(
    { platform },
    {
      options: {
        rootDir: root,
        stateDir: state,
        socketPath: socket,
        // CNI plugins that users bring install themselves there.
        cniBinDir: instance.cni === 'none' ? '/opt/cni/bin' : (cniBinDirs[0] ?? '/opt/cni/bin'),
        cniConfDir: instance.cniConfig.confDir,
        registryConfigDir: `${instance.dataDir}/registries`,
        registryAuth: containerdAuth(registryAuth),
        cgroupDriver: 'cgroupfs',
      },
      configFile: config,
      logFile: log,
    },
  );
}

/** In containerd's form, which has the token in a single field. */
function containerdAuth(
  auth: Readonly<Record<string, RegistryAuth>>,
): Readonly<Record<string, Readonly<Record<string, string>>>> {
  return Object.fromEntries(
    Object.entries(auth).map(([host, each]) => [
      host,
      Object.fromEntries(Object.entries(each).map(([name, value]) => [name.toLowerCase(), value as string])),
    ]),
  );
}
