/** `keelson up`: the whole cluster in one process, in the foreground or behind. */
import { Command, Option } from 'commander';
import {
  DEFAULT_DATA_DIR,
  parseNodes,
  parseUpOptions,
  simulatedDataDir,
  type RawUpOptions,
} from './cluster-options.ts';
import { UserError } from './usage-error.ts';

/** The command. */
export function upCommand(): Command {
  return new Command('up')
    .description('start a cluster: control plane, one node, service proxy and DNS')
    .option('--data-dir <dir>', 'where the cluster keeps everything', DEFAULT_DATA_DIR)
    .option('--https-port <port>', 'port of the API server', '6443')
    .option('--store <kind>', 'sqlite, memory or etcd=URL,...', 'sqlite')
    .option('--etcd-cafile <file>', "certificate authority of etcd's servers (default: the system's)")
    .option('--etcd-certfile <file>', 'client certificate for etcd')
    .option('--etcd-keyfile <file>', 'its private key')
    .option('--cluster-cidr <range>', 'addresses of pods (default: 10.42.0.0/16, or the next free one)')
    .option('--service-cidr <range>', 'addresses of services (default: 10.43.0.0/16, or the next free one)')
    .option('--cluster-domain <name>', 'DNS domain of services', 'cluster.local')
    .option('--node-name <name>', 'name of this node (default: the host name)')
    .option(
      '--container-runtime-endpoint <endpoint>',
      'use this CRI endpoint (unix:///path) instead of a containerd of our own',
    )
    .option('--runtime-config <list>', 'API versions to serve or not, e.g. resource.k8s.io/v1beta1=true')
    .addOption(
      new Option('--log-level <level>', 'debug, info, warn or error')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .option('--simulate', 'simulated nodes instead of this machine: no root, no containers; for load tests and demos')
    .option('--nodes <n>', 'how many simulated nodes (with --simulate)')
    .option('--detach', 'return when the node is Ready and leave the cluster running')
    .action(async (raw: RawUpOptions, command: Command) => {
      const settled =
        raw.simulate === true && command.getOptionValueSource('dataDir') === 'default'
          ? { ...raw, dataDir: simulatedDataDir() }
          : raw;
      const options = parseUpOptions(settled);
      const nodes = parseNodes(raw);
      if (nodes === undefined) checkPrivileges();
      if (raw.detach === true) {
        const { runDetached } = await import('./detach.ts');
        process.exitCode = await runDetached(options, raw.logLevel);
      } else if (nodes !== undefined) {
        const { runSimulated } = await import('./simulate.ts');
        process.exitCode = await runSimulated({ ...options, nodes }, raw.logLevel as 'info');
      } else {
        const { runForeground } = await import('./foreground.ts');
        process.exitCode = await runForeground(options, raw.logLevel as 'info');
      }
    });
}

function checkPrivileges(): void {
  if (process.getuid?.() === 0) return;
  throw new UserError(
    'real pods need root (containerd, network devices, mounts, cgroups); --simulate gives a control plane with a simulated node to any user',
  );
}
