/** `keelson server`: the control plane of a cluster of several machines, by default with a node on this one. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import type { ClusterOptions, OwnEtcdOptions } from '../cluster/cluster-options.ts';
import { parseServerOptions, parseStore, type RawServerOptions } from './cluster-options.ts';
import { parsePort } from './network-options.ts';
import { parseServers, readJoinToken, withJoinToken, type RawJoinToken } from './join-options.ts';
import { parseControllerManagerSettings } from './controller-manager-settings.ts';
import { parseKubeletSettings } from './kubelet-settings.ts';
import { instanceStart } from './instance-start.ts';
import { checkPrivileges, runDetached, runServer, withServerOptions, writeKubeconfigOption } from './server-options.ts';
import { parseSnapshotOptions } from './snapshot/schedule-options.ts';
import { UserError } from './usage-error.ts';

interface RawEtcdOptions extends RawJoinToken {
  readonly clusterInit?: boolean;
  readonly join?: string;
  readonly etcdClientPort: string;
  readonly etcdPeerPort: string;
}

/** Options of `keelson server` before they are checked. */
export interface RawServerCommand extends RawServerOptions, RawEtcdOptions {
  readonly disableAgent?: boolean;
}

export function serverCommand(): Command {
  const command = new Command('server').description('start the control plane that other machines join (keelson agent)');
  return serverOptions(command)
    .option('--detach', 'return when it is ready and leave it running')
    .addCommand(removeCommand())
    .action(async (raw: RawServerCommand) => {
      const options = await parseServerCommand(raw);
      if (raw.disableAgent !== true) checkPrivileges();
      const start = instanceStart(command, raw);
      process.exitCode = await (raw.detach === true ? runDetached(options.dataDir, start) : runServer(options, start));
    });
}

/** Adds the options of a server. */
export function serverOptions(command: Command): Command {
  const joining = withServerOptions(command)
    .addOption(writeKubeconfigOption('none'))
    .option('--disable-agent', 'no node on this machine: API server, controllers and scheduler alone')
    .option('--cluster-init', 'begin a cluster of several servers: the state in an etcd that they run themselves')
    .option('--join <urls>', 'become another server of the cluster at https://host:port,... (with --token)');
  return withJoinToken(joining)
    .option('--etcd-client-port <port>', 'port of this server’s own etcd', '2379')
    .option('--etcd-peer-port <port>', 'its port for the other servers’ etcd', '2380');
}

/** Checks everything that can be checked without looking at the machine. Throws `UserError`. */
export async function parseServerCommand(raw: RawServerCommand): Promise<ClusterOptions> {
  const etcd = await ownEtcdOptions(raw);
  const options = {
    ...parseServerOptions(raw),
    ...(await parseKubeletSettings(raw)),
    ...(await parseControllerManagerSettings(raw)),
    ...(raw.disableAgent === true ? { disableAgent: true } : {}),
    ...(await parseSnapshotOptions(raw, parseStore(raw))),
    etcd,
  };
  if (raw.disableAgent === true && options.kubelet !== undefined)
    throw new UserError('--disable-agent: there is no kubelet to configure on a server without a node', 2);
  if (raw.disableAgent === true && options.gateway !== undefined)
    throw new UserError('--disable-agent: routes are served by the node of this machine, which it leaves out', 2);
  if (raw.disableAgent === true && options.registryPort !== undefined)
    throw new UserError('--disable-agent: the registry is served by the node of this machine, which it leaves out', 2);
  if (etcd !== undefined && options.store.kind !== 'sqlite')
    throw new UserError('--cluster-init and --join bring a store of their own: leave --store out', 2);
  return options;
}

/** Throws `UserError` with exit code 2. */
async function ownEtcdOptions(raw: RawEtcdOptions): Promise<OwnEtcdOptions | undefined> {
  const token = await readJoinToken(raw);
  if (raw.join === undefined && token !== undefined) throw new UserError('--token: only with --join', 2);
  if (raw.clusterInit === true && raw.join !== undefined)
    throw new UserError('--cluster-init begins a cluster, --join joins one: give one of them', 2);
  if (raw.clusterInit !== true && raw.join === undefined) return undefined;
  const clientPort = parsePort('--etcd-client-port', raw.etcdClientPort);
  const peerPort = parsePort('--etcd-peer-port', raw.etcdPeerPort);
  if (clientPort === peerPort) throw new UserError('--etcd-client-port and --etcd-peer-port must differ', 2);
  if (raw.join === undefined) return { clientPort, peerPort };
  const servers = parseServers('--join', raw.join);
  if (token === undefined)
    throw new UserError('--join: --token or --token-file is needed (keelson token create --server, on a server)', 2);
  return { clientPort, peerPort, join: { servers, token } };
}

/** `keelson server remove`. */
function removeCommand(): Command {
  return new Command('remove')
    .description('remove a server that is gone for good from the cluster’s etcd; run it on another server')
    .argument('<name>', 'its node name')
    .action(async (name: string, _own: object, command: Command) => {
      const { dataDir } = command.optsWithGlobals<{ dataDir: string }>();
      const { createNodePlatform } = await import('../platform/node/node-platform.ts');
      const { removeEtcdMember } = await import('../cluster/etcd/remove-etcd-member.ts');
      const platform = createNodePlatform({ startSpawner: false, log: { level: 'warn' } });
      const dir = resolve(dataDir);
      try {
        const outcome = await removeEtcdMember(platform, { dataDir: dir, pkiDir: `${dir}/pki` }, name);
        if (outcome === 'unknown') throw new UserError(`the cluster has no server ${name}`);
        if (outcome === 'only')
          throw new UserError(`${name} is the only server: keelson down --delete-data ends the cluster`);
      } finally {
        platform.close();
      }
    });
}
