/**
 * The kubelet configuration of a node of `up`, `server` and `agent`: the instance's own values, overridden by the
 * user's `--kubelet-config` and `--kubelet-arg`. Fields that the instance owns are refused, never ignored.
 */
import { KubeletConfigurationError } from '../../kubelet/configuration/decode.ts';
import {
  completeConfiguration,
  type SparseConfiguration,
  type KubeletConfigurationV1Beta1,
} from '../../kubelet/configuration/fields.ts';
import { loadConfiguration } from '../../kubelet/configuration/load.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';
import { dnsAddress } from '../network/pod-network.ts';
import { PreflightError } from '../preflight-error.ts';

export interface KubeletSettings {
  /** A KubeletConfiguration (kubelet.config.k8s.io/v1beta1). */
  readonly configFile?: string;
  /** The values by upstream's flag names without dashes. */
  readonly args: Readonly<Record<string, readonly string[]>>;
  /** Labels that the node registers with. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
}

/** The inputs of the instance's own values. */
export interface InstanceKubelet {
  readonly instance: Instance;
  readonly port: number;
  readonly containerRuntimeEndpoint?: string;
}

const SERVING = 'the cluster issues the certificate of the kubelet’s server and decides who may use it';
const CLIENT = 'the kubelet shares a process with its API server or a connection of the agent';
const RUNTIME = '--container-runtime-endpoint names the runtime';
const PROCESS = 'the kubelet is part of a process that does more';

/** The fields that the instance owns, with the reason why the user cannot set them. */
const OWNED_FIELDS: Partial<Record<keyof KubeletConfigurationV1Beta1, string>> = {
  authentication: SERVING,
  authorization: SERVING,
  cgroupRoot: 'each instance has a cgroup of its own',
  clusterDNS: 'the tenth address of --service-cidr serves DNS',
  clusterDomain: '--cluster-domain names it',
  containerRuntimeEndpoint: RUNTIME,
  enableServer: 'the API server needs the kubelet’s server',
  eventBurst: CLIENT,
  eventRecordQPS: CLIENT,
  imageServiceEndpoint: RUNTIME,
  kubeAPIBurst: CLIENT,
  kubeAPIQPS: CLIENT,
  kubeletCgroups: PROCESS,
  logging: '--log-level sets it',
  maxOpenFiles: PROCESS,
  oomScoreAdj: PROCESS,
  podCIDR: 'the node gets its range from the cluster',
  podLogsDir: 'logs lie in the data directory',
  port: 'it is chosen at the first start and kept',
  registerNode: 'a node that does not register would never be Ready',
  rotateCertificates: SERVING,
  runOnce: 'it runs without an API server alone: keelson kubelet --runonce',
  runtimeRequestTimeout: RUNTIME,
  serverTLSBootstrap: SERVING,
  systemCgroups: PROCESS,
  tlsCertFile: SERVING,
  tlsCipherSuites: SERVING,
  tlsMinVersion: SERVING,
  tlsPrivateKeyFile: SERVING,
};

/** The configuration without the user's settings. */
export function instanceDocument(kubelet: InstanceKubelet): KubeletConfigurationV1Beta1 {
  return completeConfiguration(baseOf(kubelet));
}

/** The configuration with the user's settings. @throws PreflightError with one line that names what is wrong */
export async function loadInstanceDocument(
  files: Platform['files'],
  kubelet: InstanceKubelet,
  { configFile, args }: KubeletSettings,
): Promise<KubeletConfigurationV1Beta1> {
  try {
    const file = configFile === undefined ? {} : { file: configFile };
    const document = await loadConfiguration(files, { base: baseOf(kubelet), ...file, flags: args });
    refuseOwnedFields(document, instanceDocument(kubelet));
    return document;
  } catch (error) {
    if (error instanceof KubeletConfigurationError) throw new PreflightError(error.message, { cause: error });
    throw error;
  }
}

function baseOf({ instance, port, containerRuntimeEndpoint }: InstanceKubelet): SparseConfiguration {
  return {
    port,
    podLogsDir: instance.podLogsRoot,
    clusterDNS: [dnsAddress(instance.serviceCidr)],
    clusterDomain: instance.clusterDomain,
    staticPodPath: `${instance.dataDir}/pod-manifests`,
    containerRuntimeEndpoint: containerRuntimeEndpoint ?? `unix://${instance.containerd.socket}`,
    registryPullQPS: 0,
    failCgroupV1: false,
    failSwapOn: false,
    healthzPort: 0,
  };
}

function refuseOwnedFields(document: KubeletConfigurationV1Beta1, own: KubeletConfigurationV1Beta1): void {
  for (const [field, reason] of Object.entries(OWNED_FIELDS)) {
    const name = field as keyof KubeletConfigurationV1Beta1;
    if (JSON.stringify(document[name]) !== JSON.stringify(own[name]))
      throw new PreflightError(`--kubelet-config, --kubelet-arg: ${field} cannot be set here: ${reason}`);
  }
}
