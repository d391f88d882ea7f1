/** `keelson kubelet`: the node agent alone, with upstream's flags and configuration file. */
import { Command } from 'commander';
import { resolve } from 'node:path';
import { parseIp } from '../base/cidr.ts';
import { KUBERNETES_VERSION } from '../base/version.ts';
import type { KubeletConfigurationV1Beta1 } from '../kubelet/configuration/fields.ts';
import type { DynamicConfiguration } from '../kubelet/dynamic-configuration/dynamic-configuration.ts';
import type { NodePlatform } from '../platform/node/node-platform.ts';
import { endLater } from './end-later.ts';
import { logContained } from './last-net.ts';
import { parseNodeLabels } from './node-labels.ts';
import { setProcessUmask } from './process-umask.ts';
import { UserError } from './usage-error.ts';

/** Flags that set no field of the configuration file. */
interface KubeletFlags {
  readonly kubeconfig?: string;
  readonly bootstrapKubeconfig?: string;
  readonly config?: string;
  readonly configDir?: string;
  readonly dynamicConfigDir?: string;
  readonly rootDir: string;
  readonly certDir: string;
  readonly hostnameOverride?: string;
  readonly nodeIp?: string;
  readonly nodeLabels?: string;
  readonly registerSchedulable?: string;
  readonly hostNetworkSources: string;
  readonly hostPidSources: string;
  readonly hostIpcSources: string;
  readonly cloudProvider: string;
  readonly imageCredentialProviderConfig?: string;
  readonly imageCredentialProviderBinDir?: string;
}

/** The command. Flags of configuration fields are read from the table, so they are not declared one by one. */
export function kubeletCommand(): Command {
  return new Command('kubelet')
    .description('the node agent alone, against any API server or on manifests')
    .option('--kubeconfig <file>', 'the API server and who this node is; without it the kubelet runs standalone')
    .option(
      '--bootstrap-kubeconfig <file>',
      'kubeconfig that requests the certificate of --kubeconfig while that file does not exist',
    )
    .option('--config <file>', 'a KubeletConfiguration (kubelet.config.k8s.io/v1beta1)')
    .option('--config-dir <dir>', 'drop-ins (*.conf) merged over --config')
    .option('--dynamic-config-dir <dir>', "follows the node's spec.configSource; keeps what it names there")
    .option('--root-dir <dir>', 'where pods keep their files', '/var/lib/kubelet')
    .option('--cert-dir <dir>', 'where certificates lie', '/var/lib/kubelet/pki')
    .option('--hostname-override <name>', "the node's name instead of the host's")
    .option('--node-ip <addresses>', "the node's address, or two of different families")
    .option('--node-labels <labels>', 'labels to register with: a=b,c=d')
    .option('--register-schedulable [value]', 'false registers the node unschedulable')
    .option('--host-network-sources <list>', 'sources whose pods may use the host network: file, http, api, *', '*')
    .option('--host-pid-sources <list>', 'the same for the host PID namespace', '*')
    .option('--host-ipc-sources <list>', 'the same for the host IPC namespace', '*')
    .option('--cloud-provider <name>', "external: a cloud's controller sees to addresses and zone of the node", '')
    .option(
      '--image-credential-provider-config <path>',
      'programs that know credentials of registries: a file or folder',
    )
    .option('--image-credential-provider-bin-dir <dir>', 'where those programs lie')
    .addHelpText('after', '\nEvery field of KubeletConfiguration with a flag of its own can be given too; flags win.')
    .version(`Kubernetes ${KUBERNETES_VERSION}`, '--version', 'print the version of Kubernetes')
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (flags: KubeletFlags, command: Command) => {
      if (process.getuid?.() !== 0) throw new UserError('kubelet must run as root');
      process.exitCode = await run(flags, command.args);
    });
}

const DEBUG_VERBOSITY = 4;

async function run(flags: KubeletFlags, rest: readonly string[]): Promise<number> {
  const { collectFlags } = await import('./kubelet-flags.ts');
  const { loadConfiguration } = await import('../kubelet/configuration/load.ts');
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const { createNodeFiles } = await import('../platform/node/files.ts');
  const files = createNodeFiles();
  const fileSettings = await configFile(files, flags);
  const flagged = collectFlags(rest);
  const local = await asUserError(loadConfiguration(files, { ...fileSettings, flags: flagged }));
  if (local.runOnce && flags.kubeconfig !== undefined)
    throw new UserError('--runonce works without an API server: leave out --kubeconfig', 2);
  if (flags.dynamicConfigDir !== undefined && flags.kubeconfig === undefined)
    throw new UserError('--dynamic-config-dir needs an API server: give --kubeconfig', 2);
  setProcessUmask();
  const level = local.logging.verbosity >= DEBUG_VERBOSITY ? 'debug' : 'info';
  const { returnMemoryWhenIdle } = await import('./idle-memory.ts');
  const platform = createNodePlatform({ cgroupRoot: '/', log: { level } });
  logContained(platform.log);
  const stopLooking = returnMemoryWhenIdle(platform);
  try {
    const load = async (file?: string) =>
      file === undefined ? local : await loadConfiguration(files, { file, flags: flagged });
    await runKubelets(platform, { flags, local, dynamic: await dynamicOf(platform, flags, load) });
    return 0;
  } finally {
    stopLooking();
    platform.close();
    endLater(platform.log);
  }
}

/** Runs kubelets one after another, each with the configuration assigned to the node, until a signal ends the last one. */
async function runKubelets(
  platform: NodePlatform,
  settings: { flags: KubeletFlags; local: KubeletConfigurationV1Beta1; dynamic: DynamicConfiguration | undefined },
): Promise<void> {
  const { startKubeletProcess, waitForPodsOnce } = await import('../cluster/alone/kubelet-process.ts');
  const { flags, local, dynamic } = settings;
  const ended = untilSignal().then(() => 'ended' as const);
  for (let why: 'ended' | 'changed' = 'changed'; why !== 'ended';) {
    const config = dynamic === undefined ? local : await dynamic.choose();
    const kubelet = await startKubeletProcess(platform, { ...processOptions(flags), dynamic }, config);
    if (config.runOnce) await waitForPodsOnce(kubelet, platform);
    const changed = dynamic?.untilChanged().then(() => 'changed' as const);
    why = config.runOnce ? 'ended' : await Promise.race([ended, ...(changed ? [changed] : [])]);
    await kubelet.stop();
  }
}

async function dynamicOf(
  platform: NodePlatform,
  { dynamicConfigDir }: KubeletFlags,
  load: (file?: string) => Promise<KubeletConfigurationV1Beta1>,
): Promise<DynamicConfiguration | undefined> {
  if (dynamicConfigDir === undefined) return undefined;
  const { createCheckpoints } = await import('../kubelet/dynamic-configuration/checkpoints.ts');
  const { createDynamicConfiguration } = await import('../kubelet/dynamic-configuration/dynamic-configuration.ts');
  const checkpoints = createCheckpoints(platform.files, resolve(dynamicConfigDir));
  const log = platform.log.child('dynamic-configuration');
  return createDynamicConfiguration({ ...platform, log, checkpoints, load });
}

/** An error of a flag is wrong usage, an error of a file is not. */
async function asUserError(loading: Promise<KubeletConfigurationV1Beta1>): Promise<KubeletConfigurationV1Beta1> {
  const { KubeletConfigurationError } = await import('../kubelet/configuration/decode.ts');
  const { KubeletFlagError } = await import('../kubelet/configuration/flags.ts');
  return await loading.catch((error: unknown) => {
    if (!(error instanceof KubeletConfigurationError)) throw error;
    throw new UserError(error.message, error instanceof KubeletFlagError ? 2 : 1);
  });
}

/** Refuses a folder given by `--config`, as early releases took it, and names today's flag. */
async function configFile(
  files: { stat(path: string): Promise<{ kind: string }> },
  { config, configDir }: KubeletFlags,
): Promise<{ file?: string; dropInDir?: string }> {
  const file = config === undefined ? undefined : resolve(config);
  if (file !== undefined) {
    const kind = await files.stat(file).then(
      (stat) => stat.kind,
      () => 'nothing', // Reading the file later reports the reason.
    );
    if (kind === 'directory')
      throw new UserError(`--config ${config} is a directory: manifests of pods are given by --pod-manifest-path`, 2);
  }
  return {
    file,
    dropInDir: configDir === undefined ? undefined : resolve(configDir),
  };
}

/** Requires both flags or neither, as upstream. */
function credentialProviders({
  imageCredentialProviderConfig: config,
  imageCredentialProviderBinDir: binDir,
}: KubeletFlags): { credentialProviders?: { config: string; binDir: string } } {
  if (config === undefined && binDir === undefined) return {};
  if (config === undefined || binDir === undefined)
    throw new UserError('--image-credential-provider-config and --image-credential-provider-bin-dir go together', 2);
  return { credentialProviders: { config: resolve(config), binDir: resolve(binDir) } };
}

function processOptions(
  flags: KubeletFlags,
): Parameters<typeof import('../cluster/alone/kubelet-process.ts').startKubeletProcess>[1] {
  const list = (text: string): string[] => text.split(',').filter((part) => part !== '');
  return {
    identity: {
      rootDirectory: resolve(flags.rootDir),
      nodeIps: checkNodeIps(list(flags.nodeIp ?? '')),
      nodeLabels: parseNodeLabels('--node-labels', (flags.nodeLabels ?? '').split(',')),
      externalCloud: isExternalCloud(flags.cloudProvider),
      registerSchedulable: flags.registerSchedulable !== 'false',
      allowedHostNamespaceSources: {
        network: sourcesOf('--host-network-sources', flags.hostNetworkSources),
        pid: sourcesOf('--host-pid-sources', flags.hostPidSources),
        ipc: sourcesOf('--host-ipc-sources', flags.hostIpcSources),
      },
    },
    kubeconfig: flags.kubeconfig === undefined ? undefined : resolve(flags.kubeconfig),
    bootstrapKubeconfig: flags.bootstrapKubeconfig === undefined ? undefined : resolve(flags.bootstrapKubeconfig),
    hostnameOverride: flags.hostnameOverride,
    certDir: resolve(flags.certDir),
    ...credentialProviders(flags),
    pid: process.pid,
  };
}

/** Accepts one address, or one of each IP family. */
function checkNodeIps(nodeIps: readonly string[]): readonly string[] {
  const families = nodeIps.map((text) => {
    const address = parseIp(text);
    if (address === undefined) throw new UserError(`--node-ip: ${text} is no address`, 2);
    return address.family;
  });
  if (new Set(families).size < families.length)
    throw new UserError('--node-ip: must contain either a single IP or a dual-stack pair of IPs', 2);
  return nodeIps;
}

/** Refuses in-tree cloud providers, which upstream removed too. */
function isExternalCloud(name: string): boolean {
  if (name !== '' && name !== 'external')
    throw new UserError(`--cloud-provider: unsupported value "${name}": supported values: "external", ""`, 2);
  return name === 'external';
}

const SOURCES = ['file', 'http', 'api', '*'];

function sourcesOf(flag: string, text: string): string[] {
  const sources = text.split(',').filter((part) => part !== '');
  const unknown = sources.find((source) => !SOURCES.includes(source));
  if (unknown !== undefined) throw new UserError(`${flag}: unknown pod source "${unknown}"`, 2);
  return sources;
}

function untilSignal(): Promise<void> {
  const { promise, resolve: done } = Promise.withResolvers<void>();
  process.once('SIGTERM', done);
  process.once('SIGINT', done);
  return promise;
}
