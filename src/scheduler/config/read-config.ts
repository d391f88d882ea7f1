/**
 * Reads a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): strict decoding, defaults, validation with
 * field paths. Upstream: scheduler/apis/config. Settings that have no effect here are validated and listed in
 * `withoutEffect`.
 */
import { parseYaml, YamlSyntaxError } from '../../api/codec/yaml.ts';
import { enabledEverywhere, type ProfileConfig, type SchedulerConfig } from './scheduler-config.ts';
import { readExtenders } from './read-extenders.ts';
import { Fields, SchedulerConfigError } from './fields.ts';
import { readPlugins } from './merge-plugins.ts';
import { argReaders } from './plugin-args.ts';
import { appendAll } from '../../base/lists.ts';

/** The leader election of several schedulers. */
export interface LeaderElectionSettings {
  readonly leaderElect: boolean;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly resourceName: string;
  readonly resourceNamespace: string;
}

/** The whole content of a configuration file. */
export interface SchedulerFile extends SchedulerConfig {
  readonly leaderElection: LeaderElectionSettings;
  /** '' when the file has none. */
  readonly kubeconfig: string;
}

const API_VERSION = 'kubescheduler.config.k8s.io/v1';
const KIND = 'KubeSchedulerConfiguration';

/** Parses the text. @throws SchedulerConfigError with all errors */
export function readSchedulerConfig(text: string): SchedulerFile {
  let value: unknown;
  try {
    ({ value } = parseYaml(text));
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw new SchedulerConfigError([error.message], { cause: error });
    throw error;
  }
  const problems: string[] = [];
  const root = new Fields(value, '', problems);
  if (root.text('apiVersion', '') !== API_VERSION || root.text('kind', '') !== KIND)
    throw new SchedulerConfigError([
      `no kind "${root.text('kind', '')}" is registered for version "${root.text('apiVersion', '')}": expected ${API_VERSION} ${KIND}`,
    ]);
  const file = readRoot(root);
  if (problems.length > 0) throw new SchedulerConfigError(problems);
  const withoutEffect = settingsWithoutEffect(new Fields(value, '', []));
  return withoutEffect.length === 0 ? file : { ...file, withoutEffect };
}

function readRoot(root: Fields): SchedulerFile {
  root.number('parallelism', 16, { min: 1, max: 2 ** 31 - 1 });
  root.bool('enableProfiling', true);
  root.bool('enableContentionProfiling', true);
  root.bool('delayCacheUntilActive', false);
  const initial = root.number('podInitialBackoffSeconds', 1, { min: 1, max: 2 ** 31 - 1 });
  const most = root.number('podMaxBackoffSeconds', 10);
  if (most < initial)
    root.invalid('podMaxBackoffSeconds', most, 'must be greater than or equal to PodInitialBackoffSeconds');
  const percentage = root.number('percentageOfNodesToScore', 0, { min: 0, max: 100 });
  const connection = root.object('clientConnection');
  const kubeconfig = connection.text('kubeconfig', '');
  for (const name of ['acceptContentTypes', 'contentType']) connection.text(name, '');
  for (const name of ['qps', 'burst']) connection.number(name, 0, { integer: false });
  connection.finish();
  const file = {
    profiles: readProfiles(root, percentage),
    podInitialBackoffMs: initial * 1000,
    podMaxBackoffMs: most * 1000,
    extenders: readExtenders(root),
    leaderElection: readLeaderElection(root.object('leaderElection')),
    kubeconfig,
  };
  root.finish();
  return file;
}

const ARGS_WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  VolumeBinding: 'shape',
};

/**
 * Settings without effect: filters run in one thread and their results are kept, so parallelism does nothing; clients
 * have no rate limits and no content type; profiling belongs to the process.
 */
function settingsWithoutEffect(root: Fields): string[] {
  const connection = root.object('clientConnection');
  return [
    ...['parallelism', 'enableProfiling', 'enableContentionProfiling', 'delayCacheUntilActive']
      .filter((name) => root.has(name))
      .map((name) => root.at(name)),
    ...['acceptContentTypes', 'contentType', 'qps', 'burst']
      .filter((name) => connection.has(name))
      .map((name) => connection.at(name)),
    ...root.objects('profiles').flatMap((profile) =>
      profile.objects('pluginConfig').flatMap((entry) => {
        const args = entry.object('args');
        const idle = ARGS_WITHOUT_EFFECT[entry.text('name', '')];
        return idle !== undefined && args.has(idle) ? [args.at(idle)] : [];
      }),
    ),
  ];
}

/** Reads leader election. Flags use it too, as they override single fields. */
function readLeaderElection(fields: Fields): LeaderElectionSettings {
  const settings: LeaderElectionSettings = {
    leaderElect: fields.bool('leaderElect', true),
    leaseDurationMs: fields.durationMs('leaseDuration', 15_000),
    renewDeadlineMs: fields.durationMs('renewDeadline', 10_000),
    retryPeriodMs: fields.durationMs('retryPeriod', 2000),
    resourceName: fields.text('resourceName', 'kube-scheduler'),
    resourceNamespace: fields.text('resourceNamespace', 'kube-system'),
  };
  const lock = fields.text('resourceLock', 'leases');
  if (lock !== 'leases') fields.invalid('resourceLock', lock, 'resourceLock value must be "leases"');
  fields.finish();
  appendAll(
    fields.problems,
    checkLeaderElection(settings).map((problem) => `${fields.path}.${problem}`),
  );
  return settings;
}

/** Checks how the durations relate to each other. */
export function checkLeaderElection(settings: LeaderElectionSettings): string[] {
  if (!settings.leaderElect) return [];
  const problems: string[] = [];
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = settings;
  const complain = (name: string, ms: number, why: string): void => {
    problems.push(`${name}: Invalid value: "${ms / 1000}s": ${why}`);
  };
  if (leaseDurationMs <= 0) complain('leaseDuration', leaseDurationMs, 'must be greater than zero');
  if (renewDeadlineMs <= 0) complain('renewDeadline', renewDeadlineMs, 'must be greater than zero');
  if (retryPeriodMs <= 0) complain('retryPeriod', retryPeriodMs, 'must be greater than zero');
  if (leaseDurationMs < renewDeadlineMs)
    complain('leaseDuration', renewDeadlineMs, 'LeaseDuration must be greater than RenewDeadline');
  return problems;
}

function readProfiles(root: Fields, percentage: number): readonly ProfileConfig[] {
  const listed = root.has('profiles') ? root.objects('profiles') : [new Fields({}, 'profiles[0]', root.problems)];
  if (listed.length === 0) root.required('profiles');
  const profiles = listed.map((fields) => readProfile(fields, { alone: listed.length === 1, percentage }));
  profiles.forEach((profile, i) => {
    const { path } = listed[i] as Fields;
    if (profiles.findIndex((other) => other.schedulerName === profile.schedulerName) < i)
      root.problems.push(`${path}.schedulerName: Duplicate value: "${profile.schedulerName}"`);
    if (profile.enabled.queueSort.join() !== profiles[0]?.enabled.queueSort.join())
      root.problems.push(`${path}.plugins.queueSort: Invalid value: has to match for all profiles`);
  });
  return profiles;
}

function readProfile(fields: Fields, { alone, percentage }: { alone: boolean; percentage: number }): ProfileConfig {
  const schedulerName = fields.text('schedulerName', alone ? 'default-scheduler' : '');
  if (schedulerName === '') fields.required('schedulerName');
  const plugins = readPlugins(fields.object('plugins'));
  const made: ProfileConfig = {
    schedulerName,
    ...plugins,
    enabled: { ...enabledEverywhere([]), ...plugins.enabled },
    pluginArgs: readPluginConfig(fields),
    percentageOfNodesToScore: fields.number('percentageOfNodesToScore', percentage, { min: 0, max: 100 }),
  };
  fields.finish();
  return made;
}

function readPluginConfig(profile: Fields): Record<string, unknown> {
  const args: Record<string, unknown> = {};
  for (const entry of profile.objects('pluginConfig')) {
    const name = entry.text('name', '');
    const fields = entry.object('args');
    fields.text('apiVersion', API_VERSION);
    const kind = fields.text('kind', `${name}Args`);
    const read = argReaders[name];
    if (name === '') entry.required('name');
    else if (Object.hasOwn(args, name)) entry.problems.push(`${entry.path}: Duplicate value: "${name}"`);
    else if (read === undefined) entry.invalid('name', name, 'this plugin takes no arguments');
    else {
      if (kind !== `${name}Args`) fields.invalid('kind', kind, `must be ${name}Args`);
      args[name] = read(fields);
      fields.finish();
    }
    entry.finish();
  }
  return args;
}
