/** Turns the flags of `keelson scheduler`, which are upstream's, into its configuration. Pure: the caller reads the files. */
import { parseGoDuration } from '../scheduler/config/go-duration.ts';
import {
  checkLeaderElection,
  readSchedulerConfig,
  type LeaderElectionSettings,
  type SchedulerFile,
} from '../scheduler/config/read-config.ts';
import { SchedulerConfigError } from '../scheduler/config/fields.ts';
import { defaultSchedulerConfig, type SchedulerConfig } from '../scheduler/config/scheduler-config.ts';
import { providerConfig, readPolicy } from '../scheduler/policy/read-policy.ts';
import { UserError, wrongUsage } from './usage-error.ts';

/** Options before they are checked. */
export interface RawSchedulerOptions {
  readonly config?: string;
  readonly kubeconfig?: string;
  readonly master?: string;
  readonly schedulerName: string;
  readonly algorithmProvider?: string;
  readonly policyConfigFile?: string;
  readonly leaderElect?: string;
  readonly leaderElectLeaseDuration?: string;
  readonly leaderElectRenewDeadline?: string;
  readonly leaderElectRetryPeriod?: string;
  readonly leaderElectResourceName?: string;
  readonly leaderElectResourceNamespace?: string;
  readonly address: string;
  readonly port: string;
}

/** Checked options. */
export interface SchedulerOptions {
  readonly scheduler: SchedulerConfig;
  readonly leaderElection: LeaderElectionSettings;
  readonly kubeconfig: string;
}

const LEADER_ELECTION: LeaderElectionSettings = {
  leaderElect: true,
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
  resourceName: 'kube-scheduler',
  resourceNamespace: 'kube-system',
};

/** Contents of the files that flags name. */
export interface SchedulerFiles {
  readonly config?: string;
  readonly policy?: string;
}

/** Combines flags and files. Throws `UserError` with exit code 2. */
export function parseSchedulerOptions(raw: RawSchedulerOptions, files: SchedulerFiles): SchedulerOptions {
  const sources = [raw.config, raw.policyConfigFile, raw.algorithmProvider].filter((one) => one !== undefined);
  if (sources.length > 1)
    throw wrongUsage('--config, --policy-config-file and --algorithm-provider exclude one another');
  const file =
    files.config === undefined ? undefined : orUserError('--config', () => readSchedulerConfig(files.config ?? ''));
  const kubeconfig = raw.kubeconfig ?? file?.kubeconfig ?? '';
  if (kubeconfig === '') throw wrongUsage('--kubeconfig is needed: it says where the API server is and who calls');
  const leaderElection = flagsOver(file?.leaderElection ?? LEADER_ELECTION, raw);
  const [problem] = checkLeaderElection(leaderElection);
  if (problem !== undefined) throw wrongUsage(problem);
  return { scheduler: schedulerOf(raw, files, file), leaderElection, kubeconfig };
}

function schedulerOf(
  raw: RawSchedulerOptions,
  files: SchedulerFiles,
  file: SchedulerFile | undefined,
): SchedulerConfig {
  if (file !== undefined) return file;
  const { policy } = files;
  if (policy !== undefined) return orUserError('--policy-config-file', () => readPolicy(policy, raw.schedulerName));
  const provider = raw.algorithmProvider;
  if (provider !== undefined)
    return orUserError('--algorithm-provider', () => providerConfig(provider, raw.schedulerName));
  return defaultSchedulerConfig(raw.schedulerName);
}

function orUserError<T>(flag: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof SchedulerConfigError) throw new UserError(`${flag}: ${error.message}`, 2, { cause: error });
    throw error;
  }
}

function flagsOver(base: LeaderElectionSettings, raw: RawSchedulerOptions): LeaderElectionSettings {
  const duration = (flag: string, text: string | undefined, otherwiseMs: number): number => {
    const ms = text === undefined ? otherwiseMs : parseGoDuration(text);
    if (ms === undefined) throw wrongUsage(`${flag}: ${text} is not a duration such as 15s`);
    return ms;
  };
  if (raw.leaderElect !== undefined && raw.leaderElect !== 'true' && raw.leaderElect !== 'false')
    throw wrongUsage(`--leader-elect: ${raw.leaderElect} is neither true nor false`);
  return {
    leaderElect: raw.leaderElect === undefined ? base.leaderElect : raw.leaderElect === 'true',
    leaseDurationMs: duration('--leader-elect-lease-duration', raw.leaderElectLeaseDuration, base.leaseDurationMs),
    renewDeadlineMs: duration('--leader-elect-renew-deadline', raw.leaderElectRenewDeadline, base.renewDeadlineMs),
    retryPeriodMs: duration('--leader-elect-retry-period', raw.leaderElectRetryPeriod, base.retryPeriodMs),
    resourceName: raw.leaderElectResourceName ?? base.resourceName,
    resourceNamespace: raw.leaderElectResourceNamespace ?? base.resourceNamespace,
  };
}
