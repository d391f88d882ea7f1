/**
 * The parts of configurations that a simulated runtime keeps after a start, since thousands of machines have tens of thousands
 * of them.
 */
import type { Init } from '../call-options.ts';
import type { ContainerConfig, PodSandboxConfig } from '../gen/cri-types.ts';

/** The part of a sandbox's configuration that identifies it and has its log directory. */
export function leanSandboxConfig(config: Init<PodSandboxConfig>): Init<PodSandboxConfig> {
  return pick(config, ['metadata', 'labels', 'annotations', 'logDirectory']);
}

/** The part of a container's configuration that identifies it and that its process sees. */
export function leanContainerConfig(config: Init<ContainerConfig>): Init<ContainerConfig> {
  const seen = ['metadata', 'labels', 'annotations', 'command', 'args', 'stopSignal'] as const;
  const { mounts = [] } = config;
  return {
    ...pick(config, seen),
    mounts: mounts.map((mount) => pick(mount, ['containerPath', 'hostPath', 'readonly', 'propagation'])),
  };
}

function pick<T extends object>(from: T, names: readonly (keyof T)[]): T {
  const picked: Partial<T> = {};
  for (const name of names) if (from[name] !== undefined) picked[name] = from[name];
  return picked as T;
}
