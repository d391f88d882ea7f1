/** Options that `keelson up` and `keelson server` share, and how they start a cluster. */
import { controllerManagerArgOption } from './controller-manager-settings.ts';
import { Option, type Command } from 'commander';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import { apiServerFlags } from '../apiserver/options/api-server-options.ts';
import { withFlags } from './flags.ts';
import { withHelmOptions, withProxies } from './helm-options.ts';
import { dataDirOption } from './cluster-options.ts';
import { FLANNEL_BACKENDS } from '../cluster/instance/instance.ts';
import type { InstanceStart } from './instance-start.ts';
import { withSnapshotOptions } from './snapshot/schedule-options.ts';
import { registryOption } from './registry-option.ts';
import { UserError } from './usage-error.ts';

/** Adds the options. */
export function withServerOptions(command: Command): Command {
  const common = withNetworkOptions(command)
    .addOption(dataDirOption())
    .addOption(configOption())
    .option(
      '--https-port <port>',
      'port of the API server (default: that of the last start; at the first one 6443, or the next free one)',
    )
    .option('--store <kind>', 'sqlite, memory or etcd=URL,...', 'sqlite')
    .option('--etcd-cafile <file>', "certificate authority of etcd's servers (default: the system's)")
    .option('--etcd-certfile <file>', 'client certificate for etcd')
    .option('--etcd-keyfile <file>', 'its private key')
    .option('--encryption-provider-config <file>', 'EncryptionConfiguration: which resources are stored encrypted')
    .option('--history-size <size>', 'how much history of objects is kept, e.g. 256Mi; 0: none', '256Mi')
    .option('--history-age <duration>', 'how long it is kept, e.g. 24h; 0: not at all', '24h')
    .option(
      '--scheduler-config <file>',
      'KubeSchedulerConfiguration: profiles, plugins and extenders of the scheduler; or a Policy',
    )
    .addOption(controllerManagerArgOption())
    .addOption(kubeletConfigOption())
    .addOption(kubeletArgOption())
    .addOption(nodeLabelOption())
    .addOption(nodeTaintOption())
    .option('--kubeconfig-mode <mode>', 'mode of the file that --write-kubeconfig writes (default: 0600)')
    .option('--runtime-config <list>', 'API versions to serve or not, e.g. resource.k8s.io/v1beta1=true')
    .addOption(registryOption())
    .addOption(consoleOption())
    .addOption(logLevelOption())
    .addOption(restartOption());
  return withFlags(withHelmOptions(withSnapshotOptions(common)), apiServerFlags);
}

/** Ranges, names and addresses. */
function withNetworkOptions(command: Command): Command {
  return command
    .option(
      '--cluster-cidr <range>',
      'addresses of pods (default: 10.42.0.0/16, or the next free one); IPv4,IPv6: both',
    )
    .option(
      '--service-cidr <range>',
      'addresses of services (default: 10.43.0.0/16, or the next free one); IPv4,IPv6: both',
    )
    .addOption(
      new Option('--cni <who>', 'keelson: pods’ network by us; none: by a plugin you bring')
        .choices(['keelson', 'none'])
        .default('keelson'),
    )
    .addOption(flannelBackendOption())
    .addOption(
      new Option(
        '--dns <who>',
        'keelson: cluster DNS by us; none: by a Service you bring, at the tenth service address',
      )
        .choices(['keelson', 'none'])
        .default('keelson'),
    )
    .addOption(stubDomainOption())
    .addOption(
      new Option(
        '--gateway <who>',
        'keelson: Ingress is served on this machine’s ports once there is one; none: by a controller you bring (default: none, unless a port of routes is given)',
      ).choices(['keelson', 'none']),
    )
    .option('--gateway-http-port <port>', 'port of routes (default: 80)')
    .option('--gateway-https-port <port>', 'port of routes with TLS (default: 443)')
    .addOption(partOption('load-balancer', 'services of type LoadBalancer get the nodes’ addresses'))
    .addOption(partOption('local-path', 'volumes of the class local-path are made on the nodes'))
    .addOption(partOption('metrics', 'metrics.k8s.io is served, for kubectl top and autoscalers'))
    .addOption(proxyModeOption())
    .addOption(nodePortAddressesOption())
    .option('--cluster-domain <name>', 'DNS domain of services', 'cluster.local')
    .option(
      '--bind-address <address>',
      'address on which the API server listens (default: all of IPv4; of simulated clusters 127.0.0.1)',
    )
    .option('--advertise-address <address>', 'address under which pods and other machines reach the API server')
    .option('--tls-san <names>', 'more names and addresses for the API server certificate, separated by commas')
    .option('--node-name <name>', 'name of this node (default: the host name)')
    .option('--node-ip <address>', 'address of this node (default: the first of a real device)')
    .option(
      '--container-runtime-endpoint <endpoint>',
      'use this CRI endpoint (unix:///path) instead of a containerd of our own',
    );
}

/** A flag that leaves a part out for one that the user installs. */
function partOption(flag: string, description: string): Option {
  const option = new Option(`--${flag} <who>`, `keelson: ${description}; none: by what you bring`);
  return option.choices(['keelson', 'none']).default('keelson');
}

/** `--flannel-backend`. */
export function flannelBackendOption(): Option {
  return new Option(
    '--flannel-backend <backend>',
    'what connects nodes, the same for all of a cluster; vxlan: routes, and VXLAN where no link is shared; wireguard-native: encrypted tunnels (default: that of the last start, or of the cluster it joins, or vxlan)',
  ).choices(FLANNEL_BACKENDS);
}

/** `--dns-stub-domain`. */
export function stubDomainOption(): Option {
  return new Option('--dns-stub-domain <domain=servers...>', 'name servers of a domain, e.g. corp.example=10.0.0.53');
}

function consoleOption(): Option {
  const option = new Option('--console <bool>', 'serve the console in the browser at /console/');
  return option.choices(['true', 'false']).default('true');
}

/** `--proxy-mode`. */
export function proxyModeOption(): Option {
  return new Option('--proxy-mode <mode>', 'how services are served: nftables, iptables or userspace')
    .choices(['nftables', 'iptables', 'userspace'])
    .default('nftables');
}

/** `--nodeport-addresses`: separated by commas, given once or several times. */
export function nodePortAddressesOption(): Option {
  return new Option(
    '--nodeport-addresses <ranges>',
    'addresses of this machine that serve node ports: ranges, or primary for the node’s own (default: all)',
  ).argParser((text: string, before: readonly string[] = []) => [...before, ...text.split(',')]);
}

/** `--kubelet-config`. */
export function kubeletConfigOption(): Option {
  return new Option('--kubelet-config <file>', 'a KubeletConfiguration for the node of this machine');
}

/** `--kubelet-arg`: one flag of upstream's kubelet. The option may be repeated. */
export function kubeletArgOption(): Option {
  return new Option(
    '--kubelet-arg <name=value>',
    'a flag of the kubelet’s configuration, e.g. eviction-hard=memory.available<200Mi; may be given several times',
  ).argParser((text: string, before: readonly string[] = []) => [...before, text]);
}

/** `--config`. */
export function configOption(): Option {
  return new Option('--config <file>', 'these flags as YAML, by their names; keys of k3s’s config.yaml are understood');
}

/** `--node-label`. */
export function nodeLabelOption(): Option {
  return new Option(
    '--node-label <key=value>',
    'a label the node registers with; may be given several times',
  ).argParser((text: string, before: readonly string[] = []) => [...before, ...text.split(',')]);
}

/** `--node-taint`. */
export function nodeTaintOption(): Option {
  return new Option(
    '--node-taint <key=value:effect>',
    'a taint the node registers with; may be given several times',
  ).argParser((text: string, before: readonly string[] = []) => [...before, ...text.split(',')]);
}

/** `--write-kubeconfig`. The environment's value is for set-ups that must leave files alone. */
export function writeKubeconfigOption(byDefault: 'default' | 'none'): Option {
  return new Option(
    '--write-kubeconfig <file>',
    'kubeconfig that gets this cluster’s context: a file, default (that of KUBECONFIG, or ~/.kube/config), or none',
  )
    .env('KEELSON_WRITE_KUBECONFIG')
    .argParser((file) => (file === '' ? 'none' : file))
    .default(byDefault);
}

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option('--log-level <level>', 'debug, info, warn or error')
    .choices(['debug', 'info', 'warn', 'error'])
    .default('info');
}

/** `--restart`. bin/keelson reads it before any command is loaded. */
export function restartOption(): Option {
  return new Option('--restart <when>', 'after an abnormal end: always, or never (for tests; the process itself then)')
    .choices(['always', 'never'])
    .env('KEELSON_RESTART')
    .default('always');
}

/** Runs the cluster in this process. */
export async function runServer(options: ClusterOptions, start: InstanceStart): Promise<number> {
  const { runForeground } = await import('./foreground.ts');
  return runForeground(withProxies(options, process.env), start);
}

/** Starts the same command line in the background. Resolves to the exit code. */
export async function runDetached(dataDir: string, start: InstanceStart): Promise<number> {
  const { startInBackground } = await import('./detach.ts');
  return startInBackground(dataDir, start);
}

/** Throws `UserError` unless the user is root. `instead` says what other users can do. */
export function checkPrivileges(instead = ''): void {
  if (process.getuid?.() === 0) return;
  throw new UserError(`real pods need root (containerd, network devices, mounts, cgroups)${instead}`);
}
