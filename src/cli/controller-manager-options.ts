/** Turns the flags of `keelson controller-manager`, which are upstream's, into the configuration of the controllers. */
import { parseDurationMs } from '../api/duration.ts';
import { parseCidr } from '../base/cidr.ts';
import { errorMessage } from '../base/errors.ts';
import type { LeaderElectionConfig } from '../client/leader-election.ts';
import type { ControllersConfig } from '../controllers/controller.ts';
import { controllers } from '../controllers/list.ts';
import { selectControllers } from '../controllers/selection.ts';
import { UserError, wrongUsage } from './usage-error.ts';

/** Options before they are checked. */
export interface RawControllerManagerOptions {
  readonly kubeconfig?: string;
  readonly master?: string;
  readonly controllers: readonly string[];
  readonly useServiceAccountCredentials?: boolean;
  readonly leaderElect?: string | boolean;
  readonly leaderElectLeaseDuration: string;
  readonly leaderElectRenewDeadline: string;
  readonly leaderElectRetryPeriod: string;
  readonly leaderElectResourceName: string;
  readonly leaderElectResourceNamespace: string;
  readonly allocateNodeCidrs?: boolean;
  readonly clusterCidr?: string;
  readonly serviceClusterIpRange?: string;
  readonly nodeCidrMaskSize?: string;
  readonly nodeCidrMaskSizeIpv4?: string;
  readonly nodeCidrMaskSizeIpv6?: string;
  readonly clusterSigningCertFile?: string;
  readonly clusterSigningKeyFile?: string;
  readonly rootCaFile?: string;
  readonly serviceAccountPrivateKeyFile?: string;
  readonly automaticTokenSecrets?: boolean;
  readonly nodeMonitorGracePeriod: string;
  readonly nodeMonitorPeriod: string;
  readonly terminatedPodGcThreshold: string;
  readonly address: string;
  readonly port: string;
}

export const DEFAULT_CONTROLLER_MANAGER_OPTIONS: RawControllerManagerOptions = {
  controllers: ['*'],
  leaderElectLeaseDuration: '15s',
  leaderElectRenewDeadline: '10s',
  leaderElectRetryPeriod: '2s',
  leaderElectResourceName: 'kube-controller-manager',
  leaderElectResourceNamespace: 'kube-system',
  nodeMonitorGracePeriod: '50s',
  nodeMonitorPeriod: '5s',
  terminatedPodGcThreshold: '12500',
  address: '127.0.0.1',
  port: '0',
};

/** Checked options; files they name are not read yet. */
export interface ControllerManagerOptions {
  readonly kubeconfig: string;
  readonly names: readonly string[];
  readonly port: number;
  readonly leaderElection?: Omit<LeaderElectionConfig, 'lead' | 'identity'>;
  readonly controllers: ControllersConfig;
}

/** Checks the flags. Throws `UserError` with exit code 2. */
export function parseControllerManagerOptions(raw: RawControllerManagerOptions): ControllerManagerOptions {
  if (raw.kubeconfig === undefined)
    throw wrongUsage('--kubeconfig is needed: it says where the API server is and who calls');
  if ((raw.clusterSigningCertFile === undefined) !== (raw.clusterSigningKeyFile === undefined))
    throw wrongUsage('--cluster-signing-cert-file and --cluster-signing-key-file go together');
  const election = leaderElection(raw);
  return {
    kubeconfig: raw.kubeconfig,
    names: namesOf(raw.controllers),
    port: parseWholeNumber('--port', raw.port, [0, 65_535]),
    leaderElection: election,
    controllers: {
      ...ranges(raw),
      nodeMonitorGracePeriodMs: duration('--node-monitor-grace-period', raw.nodeMonitorGracePeriod),
      nodeMonitorPeriodMs: duration('--node-monitor-period', raw.nodeMonitorPeriod),
      terminatedPodGcThreshold: parseWholeNumber('--terminated-pod-gc-threshold', raw.terminatedPodGcThreshold, [
        0,
        2 ** 31,
      ]),
      automaticTokenSecrets: raw.automaticTokenSecrets === true,
    },
  };
}

function namesOf(list: readonly string[]): string[] {
  try {
    return selectControllers(list.length === 0 ? '*' : list.join(','), Object.keys(controllers));
  } catch (error) {
    throw new UserError(`--controllers: ${errorMessage(error)}`, 2, { cause: error });
  }
}

function ranges(raw: RawControllerManagerOptions): Partial<ControllersConfig> {
  const list = (flag: string, text: string | undefined): string[] => {
    const items = text === undefined ? [] : text.split(',');
    for (const item of items)
      if (parseCidr(item) === undefined) throw wrongUsage(`${flag}: ${item} is no address range`);
    return items;
  };
  const mask = (flag: string, text: string | undefined, most: number): number | undefined =>
    text === undefined ? undefined : parseWholeNumber(flag, text, [1, most]);
  const ipv4 =
    mask('--node-cidr-mask-size-ipv4', raw.nodeCidrMaskSizeIpv4, 32) ??
    mask('--node-cidr-mask-size', raw.nodeCidrMaskSize, 128);
  const ipv6 = mask('--node-cidr-mask-size-ipv6', raw.nodeCidrMaskSizeIpv6, 128);
  const clusterCidrs = list('--cluster-cidr', raw.clusterCidr);
  if (raw.allocateNodeCidrs === true && clusterCidrs.length === 0)
    throw wrongUsage('--allocate-node-cidrs: --cluster-cidr is needed to allocate from');
  return {
    clusterCidrs: raw.allocateNodeCidrs === true ? clusterCidrs : [],
    serviceCidrs: list('--service-cluster-ip-range', raw.serviceClusterIpRange),
    nodeCidrMaskSizeIpv4: ipv4,
    nodeCidrMaskSizeIpv6: ipv6,
  };
}

function leaderElection(raw: RawControllerManagerOptions): Omit<LeaderElectionConfig, 'lead' | 'identity'> | undefined {
  const wanted = String(raw.leaderElect ?? true);
  if (wanted !== 'true' && wanted !== 'false') throw wrongUsage(`--leader-elect: ${wanted} is neither true nor false`);
  const leaseDurationMs = duration('--leader-elect-lease-duration', raw.leaderElectLeaseDuration);
  const renewDeadlineMs = duration('--leader-elect-renew-deadline', raw.leaderElectRenewDeadline);
  const retryPeriodMs = duration('--leader-elect-retry-period', raw.leaderElectRetryPeriod);
  if (leaseDurationMs <= renewDeadlineMs)
    throw wrongUsage('--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline');
  if (renewDeadlineMs <= retryPeriodMs * 1.2)
    throw wrongUsage('--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period');
  if (wanted === 'false') return undefined;
  return {
    namespace: raw.leaderElectResourceNamespace,
    name: raw.leaderElectResourceName,
    leaseDurationMs,
    renewDeadlineMs,
    retryPeriodMs,
  };
}

function duration(flag: string, text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms <= 0) throw wrongUsage(`${flag}: ${text} is not a duration such as 15s`);
  return ms;
}

function parseWholeNumber(flag: string, text: string, [least, most]: readonly [number, number]): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most)
    throw wrongUsage(`${flag}: ${text} is not a whole number from ${least} to ${most}`);
  return value;
}
