/** `keelson up`: the whole cluster in one process, in the foreground or in the background. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { isFromCommandLine } from './arguments/settle-options.ts';
import { parseNodes, parseServerOptions, parseStore, type RawServerOptions } from './cluster-options.ts';
import { parseControllerManagerSettings } from './controller-manager-settings.ts';
import { instanceStart } from './instance-start.ts';
import { parseMachineNodes } from './machine-nodes.ts';
import { parseKubeletSettings } from './kubelet-settings.ts';
import { parseSnapshotOptions } from './snapshot/schedule-options.ts';
import { MOST_SPEED } from '../testing/simulation/speeds.ts';
import { UserError } from './usage-error.ts';
import { checkPrivileges, runDetached, runServer, withServerOptions, writeKubeconfigOption } from './server-options.ts';

interface RawUpOptions extends RawServerOptions {
  readonly simulate?: boolean;
  readonly rootless?: boolean;
  readonly nodes?: string;
  readonly nodesNetwork?: string;
  readonly images?: string;
  readonly record?: string;
  readonly speed?: string;
}

export function upCommand(): Command {
  const command = new Command('up').description(
    'start a cluster: control plane, one or several nodes, service proxy and DNS',
  );
  return withServerOptions(command)
    .addOption(writeKubeconfigOption('default'))
    .option('--simulate', 'simulated nodes instead of this machine: no root, no containers; for load tests and demos')
    .option('--rootless', 'only examine what pods without root would need of this machine: no cluster is started')
    .option('--nodes <n>', 'how many nodes: of this machine, the others in namespaces of their own; or simulated ones')
    .option(
      '--nodes-network <cidr>',
      'range of IPv4 that connects the nodes of this machine; default: one that is free',
    )
    .option('--images <file>', 'what containers of which image do (with --simulate): see docs/testing.md')
    .option('--record <file>', 'what clients do, as a scenario for keelson sim run (with --simulate)')
    .option(
      '--speed <n>',
      'virtual time, 1 to 1000000 times as fast, that can be paused (with --simulate --store memory)',
    )
    .option('--detach', 'return when the node is Ready and leave the cluster running')
    .action(async (raw: RawUpOptions) => {
      if (raw.rootless === true) {
        const { examineRootless } = await import('./rootless.ts');
        process.exitCode = await examineRootless();
        return;
      }
      const options = {
        ...parseServerOptions(raw),
        ...(await parseKubeletSettings(raw)),
        ...(await parseControllerManagerSettings(raw)),
        ...(await parseSnapshotOptions(raw, parseStore(raw))),
      };
      const nodes = parseNodes(raw);
      if (nodes !== undefined && options.apiServer !== undefined)
        throw new UserError(
          '--simulate: flags of the API server (admission, authentication, audit …) need a real cluster',
          2,
        );
      if (nodes !== undefined && options.controllerManager !== undefined)
        throw new UserError('--simulate: --controller-manager-arg needs a real cluster', 2);
      if (nodes !== undefined && options.kubelet !== undefined)
        throw new UserError(
          '--simulate: --kubelet-config, --kubelet-arg, --node-label and --node-taint need a real node',
          2,
        );
      if (nodes !== undefined) refuseOfRealMachines(command);
      if (nodes === undefined && raw.images !== undefined)
        throw new UserError('--images describes simulated containers: add --simulate', 2);
      if (nodes === undefined && raw.record !== undefined)
        throw new UserError('--record records what is done to simulated nodes: add --simulate', 2);
      const speed = parseSpeed(raw, options.store.kind);
      const machineNodes = nodes === undefined ? parseMachineNodes(raw, options) : undefined;
      if (nodes === undefined) checkPrivileges('; --simulate gives a control plane with a simulated node to any user');
      const start = instanceStart(command, raw);
      if (raw.detach === true) process.exitCode = await runDetached(options.dataDir, start);
      else if (nodes === undefined) process.exitCode = await runServer({ ...options, machineNodes }, start);
      else {
        const { runSimulated } = await import('./simulate.ts');
        process.exitCode = await runSimulated(
          { ...options, nodes, imagesFile: raw.images, recordFile: raw.record && resolve(raw.record), speed },
          start,
        );
      }
    });
}

/** How fast virtual time runs; undefined: time is real. Throws `UserError` with exit code 2. */
function parseSpeed({ speed, simulate }: RawUpOptions, store: string): number | undefined {
  if (speed === undefined) return undefined;
  if (simulate !== true) throw new UserError('--speed: only simulated time can be moved; add --simulate', 2);
  // A cluster that was stored would find itself in its own past when it is started again.
  if (store !== 'memory') throw new UserError('--speed: simulated time is not stored; add --store memory', 2);
  const number = Number(speed);
  if (!(number >= 1 && number <= MOST_SPEED))
    throw new UserError(`--speed: ${speed} is not a number between 1 and ${MOST_SPEED}`, 2);
  return number;
}

/** Options of networks and machines, which simulated clusters do not have. */
const OF_REAL_MACHINES = [
  'advertiseAddress',
  'clusterCidr',
  'clusterDomain',
  'cni',
  'containerRuntimeEndpoint',
  'dns',
  'dnsStubDomain',
  'flannelBackend',
  'gateway',
  'gatewayHttpPort',
  'gatewayHttpsPort',
  'helmJobImage',
  'helmProgram',
  'loadBalancer',
  'localPath',
  'metrics',
  'nodeIp',
  'nodeName',
  'nodeportAddresses',
  'nodesNetwork',
  'proxyMode',
  'registry',
  'schedulerConfig',
  'serviceCidr',
  'tlsSan',
];

/** An option that nothing reads is refused rather than ignored. */
function refuseOfRealMachines(command: Command): void {
  const unsupported = command.options.find(
    (option) =>
      OF_REAL_MACHINES.includes(option.attributeName()) && isFromCommandLine(command, (option.long ?? '').slice(2)),
  );
  if (unsupported !== undefined) throw new UserError(`--simulate: ${unsupported.long} needs a real cluster`, 2);
}
