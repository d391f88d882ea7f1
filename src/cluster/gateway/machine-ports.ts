/**
 * The TCP ports that a machine needs itself, which neither routes nor Gateways get: the data plane outlives Keelson, and the API
 * server or the kubelet could not open a port that it holds at the next start.
 */
import { DEFAULT_NODE_PORT_RANGE } from '../../apiserver/registry/core/services/allocation.ts';
import type { Files } from '../../platform/files.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { readEtcdFile } from '../etcd/etcd-file.ts';
import type { Instance } from '../instance/instance.ts';
import { PreflightError } from '../preflight-error.ts';

export interface MachinePorts {
  /** The ports that Keelson's components are configured with. */
  readonly own: readonly number[];
  /** The user of a port, such as `the API server`; undefined for a free port. */
  userOf(port: number): string | undefined;
}

export interface MachinePortsConfig {
  readonly httpsPort: number;
  readonly kubeletPort: number;
  /** The ports of the kubelet's plain HTTP servers. */
  readonly kubeletPlainPorts: readonly number[];
  readonly etcdPorts: readonly number[];
  /** Both ends are included. */
  readonly nodePorts: { readonly first: number; readonly last: number };
}

/** Usual ports of such components, of this cluster or another. */
const USUAL: ReadonlyMap<number, string> = new Map([
  [22, 'SSH'],
  [53, 'DNS'],
  [2379, 'etcd'],
  [2380, 'etcd'],
  [6444, 'agents, for their way to the servers'],
  [10_248, 'the kubelet'],
  [10_249, 'the metrics of kube-proxy'],
  [10_250, 'the kubelet'],
  [10_255, 'the kubelet'],
  [10_256, 'the health of kube-proxy'],
  [10_257, 'the metrics of kube-controller-manager'],
  [10_259, 'the metrics of kube-scheduler'],
]);

export function machinePorts(config: MachinePortsConfig): MachinePorts {
  const { httpsPort, kubeletPort, kubeletPlainPorts, etcdPorts, nodePorts } = config;
  const users = new Map(USUAL);
  for (const port of etcdPorts) users.set(port, 'etcd');
  for (const port of [kubeletPort, ...kubeletPlainPorts]) users.set(port, 'the kubelet');
  users.set(httpsPort, 'the API server');
  return {
    own: [httpsPort, kubeletPort, ...kubeletPlainPorts, ...etcdPorts].filter((port) => port > 0),
    userOf: (port) =>
      users.get(port) ?? (port >= nodePorts.first && port <= nodePorts.last ? 'services of type NodePort' : undefined),
  };
}

/** The ports of this machine. `kubeletPlainPorts` are those of the kubelet's configuration. */
export async function readMachinePorts(
  files: Files,
  {
    instance,
    options,
    ...kubelet
  }: {
    readonly instance: Instance;
    readonly options: ClusterOptions;
    readonly kubeletPort: number;
    readonly kubeletPlainPorts: readonly number[];
  },
): Promise<MachinePorts> {
  const etcd = await readEtcdFile(files, instance.dataDir);
  const urls = etcd === undefined ? [] : [etcd.clientUrl, etcd.peerUrl];
  return machinePorts({
    ...kubelet,
    httpsPort: instance.httpsPort,
    etcdPorts: urls.map((url) => Number(new URL(url).port)),
    nodePorts: options.apiServer?.nodePorts ?? DEFAULT_NODE_PORT_RANGE,
  });
}

/** Throws `PreflightError` when a port of routes is one that the machine needs itself. */
export function checkRoutePorts({ gateway }: Pick<ClusterOptions, 'gateway'>, { userOf }: MachinePorts): void {
  for (const name of ['http', 'https'] as const) {
    const port = gateway?.[name];
    const user = port === undefined ? undefined : userOf(port);
    if (user !== undefined)
      throw new PreflightError(`--gateway-${name}-port: port ${port} is needed by ${user}; choose another`);
  }
}
