/** The configuration of a pod's sandbox. Upstream: kuberuntime_sandbox.go (generatePodSandboxConfig). */
import { sidecarsOf } from '../../api/pod-containers.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodSandboxConfig, PortMapping, Protocol, UserNamespace } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import type { DnsConfig } from '../network/dns.ts';
import { sandboxHostName } from '../network/hosts-file.ts';
import { podLabels } from './labels.ts';
import { sandboxResources, type LinuxResourceConfig } from './linux-resources.ts';
import { podLogDir, podLogIdentity, type RuntimePaths } from './paths.ts';
import { sandboxSecurityContext, withUserNamespace } from './security-context.ts';

/** Inputs of a sandbox's configuration. */
export interface SandboxConfigInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly dns: DnsConfig;
  readonly cgroupParent: string;
  readonly clusterDomain: string;
  readonly paths: RuntimePaths;
  readonly resources: LinuxResourceConfig;
  /** Absent: the host's user namespace. */
  readonly userNamespace?: UserNamespace | undefined;
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'TCP', UDP: 'UDP', SCTP: 'SCTP' };

/** Host ports of all long-running containers. Pods with the host's network need none. */
function portMappings(pod: Pod): Init<PortMapping>[] {
  if (pod.spec?.hostNetwork) return [];
  const sidecars = sidecarsOf(pod.spec);
  return [...(pod.spec?.containers ?? []), ...sidecars].flatMap((container) =>
    (container.ports ?? []).map((port) => ({
      hostIp: port.hostIP ?? '',
      hostPort: port.hostPort ?? 0,
      containerPort: port.containerPort,
      protocol: PROTOCOLS[port.protocol ?? 'TCP'] ?? 'TCP',
    })),
  );
}

/** The sysctls of a pod; slashes are converted to dots. */
function sysctls(pod: Pod): Record<string, string> {
  const list = pod.spec?.securityContext?.sysctls ?? [];
  return Object.fromEntries(
    list.map(({ name, value }) => [
      name.includes('/') && !name.includes('.') ? name.replaceAll('/', '.') : name,
      value,
    ]),
  );
}

/**
 * The configuration for RunPodSandbox, passed again with each container. Throws on a host name that is too long for
 * the kernel.
 */
export function sandboxConfig(input: SandboxConfigInput): Init<PodSandboxConfig> {
  const { pod, paths } = input;
  const { name = '', namespace = '', uid = '', annotations = {} } = pod.metadata;
  const hostNetwork = pod.spec?.hostNetwork ?? false;
  const { overhead, resources } = sandboxResources(pod, input.resources);
  return {
    metadata: { name, namespace, uid, attempt: input.attempt },
    labels: podLabels(pod),
    annotations,
    dnsConfig: input.dns,
    hostname: hostNetwork ? '' : sandboxHostName(pod, input.clusterDomain),
    logDirectory: podLogDir(paths, podLogIdentity(pod)),
    portMappings: portMappings(pod),
    linux: {
      cgroupParent: input.cgroupParent,
      securityContext: withUserNamespace(sandboxSecurityContext(pod), input.userNamespace),
      sysctls: sysctls(pod),
      overhead,
      resources,
    },
  };
}
