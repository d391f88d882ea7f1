/** Creates the context that the operations of the container runtime manager share. */
import { ContainerEndings } from '../pod/container-endings.ts';
import { podUid } from '../types/pod-update.ts';
import type { ConfigMap, Pod, Secret, Service } from '../../api/gen/core-v1.ts';
import { hasErrorCode, ignoreMissingFile } from '../../base/errors.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import type { Files } from '../../platform/files.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PodContainerManager } from '../cgroups/pod-container-manager.ts';
import { createImageManager, type ImageManagerConfig, type ImageManagerDeps } from '../images/image-manager.ts';
import type { CredentialProviders } from '../images/credential-providers.ts';
import type { PullVerification } from '../images/pull-verification.ts';
import { createHookRunner, type HookRunner } from '../lifecycle/hooks.ts';
import { createStartCounts } from '../metrics/start-counts.ts';
import { createDnsConfigurer } from '../network/dns.ts';
import type { ProbeResults } from '../prober/results.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';
import type { ContainerConfigDeps } from './container-config.ts';
import { type CrashBackOffConfig, createCrashBackOff } from './crash-back-off.ts';
import type { NodeFacts } from './field-refs.ts';
import type { PodContentState } from './garbage-collection.ts';
import type { LinuxResourceConfig } from './linux-resources.ts';
import type { RuntimePaths } from './paths.ts';
import { createPodStatusReader } from './pod-status.ts';
import type { ActuatedResources, RuntimeContext } from './runtime-context.ts';
import { readFileInside } from './open-inside.ts';
import { createSubpaths, resolveInside } from './subpath.ts';
import { createUserNamespaces } from './user-namespaces.ts';
import { createTerminationMessages } from './termination-message.ts';
import { execSync } from './exec-sync.ts';

export interface ContainerRuntimeDeps {
  readonly cri: CriRuntime;
  readonly platform: Pick<Platform, 'clock' | 'random' | 'files' | 'mounter' | 'exec' | 'net' | 'log' | 'metrics'>;
  readonly recorder: KubeletEventRecorder;
  readonly volumes: VolumeManager;
  readonly podContainers: PodContainerManager;
  readonly probeResults: ProbeResults;
  /** The state of pods in the core, for garbage collection. */
  readonly podStates: PodContentState;
  /** Services of all namespaces, from an informer. */
  services(): readonly Service[];
  /** Both getters reject with a NotFound StatusError for a missing object. */
  getConfigMap(namespace: string, name: string): Promise<ConfigMap>;
  getSecret(namespace: string, name: string): Promise<Secret>;
  /** The CRI handler of a RuntimeClass. Rejects when there is no such class. */
  runtimeHandler?(runtimeClassName: string): Promise<string>;
  readonly actuated?: ActuatedResources;
  readonly credentialProviders?: CredentialProviders;
  /** Called after each pull of an image. */
  readonly imagePulled?: ImageManagerDeps['pulled'];
  /** Decides which pods may use images that are present on the node. */
  readonly verification?: PullVerification;
  /** Settings that device plugins and resource drivers add to containers. */
  devices?: ContainerConfigDeps['devices'];
}

/** Configuration of the manager. */
export interface ContainerRuntimeConfig extends RuntimePaths {
  /** Read at each use, since its fields may be getters. */
  readonly node: NodeFacts;
  readonly resources: LinuxResourceConfig;
  readonly clusterDomain: string;
  readonly clusterDns: readonly string[];
  /** The host's resolver configuration for pods; '': pods with policy Default get none. Default /etc/resolv.conf. */
  readonly resolvConf?: string;
  readonly seccompDefault?: boolean;
  readonly crashLoopBackOff?: CrashBackOffConfig;
  readonly images?: ImageManagerConfig;
  /** The number of ids in a pod's own user namespace. Default 65536. */
  readonly idsPerPod?: number;
}

/** Undefined for a missing file. */
async function optionalText(deps: ContainerRuntimeDeps, path: string): Promise<string | undefined> {
  return await deps.platform.files.readText(path).catch(ignoreMissingFile);
}

/** The largest file with environment variables. */
const MAX_ENVIRONMENT_FILE_BYTES = 1024 * 1024;

/** The text of a file in a volume; undefined for a missing file. */
async function volumeText(files: Files, root: string, path: string): Promise<string | undefined> {
  try {
    const resolved = await resolveInside(files, { root, subPath: path, make: false });
    const names = resolved.slice(root.length + 1).split('/');
    return await readFileInside(files, { root, names }, MAX_ENVIRONMENT_FILE_BYTES);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function environmentSources(
  deps: ContainerRuntimeDeps,
  config: ContainerRuntimeConfig,
): ContainerConfigDeps['sources'] {
  const { files } = deps.platform;
  return {
    getConfigMap: (namespace, name) => deps.getConfigMap(namespace, name),
    getSecret: (namespace, name) => deps.getSecret(namespace, name),
    services: () => deps.services(),
    async readVolumeFile(pod, volumeName, path) {
      const volume = deps.volumes.mountedVolumes(podUid(pod)).get(volumeName);
      if (volume === undefined || !(await files.exists(`${volume.hostPath}/${path}`))) return undefined;
      return volumeText(files, volume.hostPath, path);
    },
    pause: () => deps.platform.clock.yield(),
    node: config.node,
    recorder: deps.recorder,
  };
}

export interface Handlers {
  recursiveReadOnly: ReadonlySet<string>;
  userNamespaces: ReadonlySet<string>;
  imageVolumeProblem: string | undefined;
}

/** The fields of the context that its other parts are created from. */
type ContextBase = Pick<
  RuntimeContext,
  'cri' | 'clock' | 'files' | 'log' | 'recorder' | 'paths' | 'subpaths' | 'reader' | 'resources' | 'clusterDomain'
>;

function createContextBase(deps: ContainerRuntimeDeps, config: ContainerRuntimeConfig): ContextBase {
  const { cri, recorder, platform } = deps;
  const { clock, files, mounter, exec } = platform;
  const { clusterDomain, resources } = config;
  const paths: RuntimePaths = { rootDir: config.rootDir, podLogsDir: config.podLogsDir };
  const messages = createTerminationMessages({ files, clock, paths });
  return {
    cri,
    clock,
    files,
    log: platform.log.child('kuberuntime'),
    recorder,
    paths,
    subpaths: createSubpaths({ files, mounter, exec, paths }),
    reader: createPodStatusReader({ runtime: cri.runtime, messages }),
    resources,
    clusterDomain,
  };
}

export function createContext(
  deps: ContainerRuntimeDeps,
  config: ContainerRuntimeConfig,
  handlers: Handlers,
): RuntimeContext {
  const base = createContextBase(deps, config);
  const { clock, log, recorder, clusterDomain } = base;
  const nodeDockerConfig = () => optionalText(deps, `${config.rootDir}/config.json`);
  return {
    ...base,
    volumes: deps.volumes,
    podContainers: deps.podContainers,
    probeResults: deps.probeResults,
    images: createImageManager(
      {
        images: deps.cri.images,
        clock,
        log,
        recorder,
        nodeDockerConfig,
        pulled: deps.imagePulled,
        credentialProviders: deps.credentialProviders,
        verification: deps.verification,
      },
      config.images ?? {},
    ),
    starts: createStartCounts(deps.platform.metrics),
    hooks: createHooks(deps, config, base),
    dns: createDnsConfigurer({
      clusterDns: config.clusterDns,
      clusterDomain,
      recorder,
      readHostResolvConf: async () =>
        config.resolvConf === '' ? '' : ((await optionalText(deps, config.resolvConf ?? '/etc/resolv.conf')) ?? ''),
    }),
    crashBackOff: createCrashBackOff(config.crashLoopBackOff ?? {}),
    userNamespaces: createUserNamespaces({
      files: base.files,
      paths: base.paths,
      idsPerPod: config.idsPerPod ?? 65_536,
      supported: (handler) => handlers.userNamespaces.has(handler),
    }),
    actuated: deps.actuated,
    preStops: new Map(),
    endings: new ContainerEndings(),
    containerConfig: {
      ...createContainerConfigDeps(deps, config, base),
      recursiveReadOnlySupported: (pod) => handlers.recursiveReadOnly.has(pod.spec?.runtimeClassName ?? ''),
      imageVolumeProblem: () => handlers.imageVolumeProblem,
    },
    runtimeHandler: (pod) => runtimeHandlerOf(pod, deps),
  };
}

function createHooks(deps: ContainerRuntimeDeps, config: ContainerRuntimeConfig, base: ContextBase): HookRunner {
  const { cri, clock, reader } = base;
  return createHookRunner({
    clock,
    net: deps.platform.net,
    execSync: (containerId, command, timeoutMs) => execSync(cri, { containerId, command, timeoutMs }),
    async podIp(pod) {
      const { uid = '', name = '', namespace = '' } = pod.metadata;
      return pod.spec?.hostNetwork
        ? (config.node.hostIps[0] ?? '')
        : ((await reader.getPodStatus(uid, name, namespace)).ips[0] ?? '');
    },
  });
}

function createContainerConfigDeps(
  deps: ContainerRuntimeDeps,
  config: ContainerRuntimeConfig,
  base: ContextBase,
): Omit<ContainerConfigDeps, 'recursiveReadOnlySupported'> {
  const { files, paths, subpaths, resources, clusterDomain } = base;
  const random = deps.platform.random.fork('kuberuntime');
  return {
    files,
    paths,
    subpaths,
    resources,
    clusterDomain,
    sources: environmentSources(deps, config),
    security: { seccompProfileRoot: `${config.rootDir}/seccomp`, seccompDefault: config.seccompDefault ?? false },
    uniqueName: () => random.nameSuffix(8),
    devices: deps.devices,
  };
}

async function runtimeHandlerOf(pod: Pod, deps: ContainerRuntimeDeps): Promise<string> {
  const name = pod.spec?.runtimeClassName;
  if (!name) return '';
  if (deps.runtimeHandler === undefined) throw new Error(`failed to get sandbox runtime: no RuntimeClass "${name}"`);
  return deps.runtimeHandler(name);
}
