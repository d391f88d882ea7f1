/** Creates the profiles of a configuration, each with its own plugin instances. Upstream: profile.NewMap. */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import type { SeriesEventRecorder } from '../client/event-series-recorder.ts';
import { defaultArgs, type FitArgs } from './config/plugin-args.ts';
import type { ProfileConfig, SchedulerConfig } from './config/scheduler-config.ts';
import type { SchedulerPluginDeps } from './framework/plugin-deps.ts';
import { SchedulerConfigError } from './config/fields.ts';
import { methodOf } from './framework/extension-points.ts';
import type { PointTimer } from './framework/point-timer.ts';
import type { SchedulerPlugin } from './framework/plugin.ts';
import { createProfile, type Profile } from './framework/profile.ts';
import type { PluginEntry } from './plugins/list.ts';

/** A profile with the event recorder of its scheduler name. */
export interface NamedProfile extends Profile {
  readonly recorder: SeriesEventRecorder;
}

export interface ProfilesDeps extends Omit<SchedulerPluginDeps, 'recorder' | 'schedulerName'> {
  readonly recorderFor: (component: string) => SeriesEventRecorder;
  readonly timerFor?: (profile: string) => PointTimer;
  /** The plugins that profiles may name. */
  readonly known: readonly PluginEntry[];
}

/** The scheduler name of the pod, which selects the profile. */
export function schedulerNameOf(pod: Stored<Pod>): string {
  return pod.spec?.schedulerName ?? 'default-scheduler';
}

/** The profiles, with the extenders' ignored resources added to NodeResourcesFit's arguments. */
export function leavingToExtenders({ profiles, extenders }: SchedulerConfig): readonly ProfileConfig[] {
  const theirs = extenders.flatMap(({ ignoredResources }) => ignoredResources);
  if (theirs.length === 0) return profiles;
  return profiles.map((profile) => {
    const fit = (profile.pluginArgs['NodeResourcesFit'] as FitArgs | undefined) ?? defaultArgs.fit;
    const args: FitArgs = { ...fit, ignoredResources: [...fit.ignoredResources, ...theirs] };
    return { ...profile, pluginArgs: { ...profile.pluginArgs, NodeResourcesFit: args } };
  });
}

/** Profiles by scheduler name. Throws on an unknown plugin, which an unchecked configuration may have. */
export function createProfiles(
  deps: ProfilesDeps,
  configs: readonly ProfileConfig[],
): ReadonlyMap<string, NamedProfile> {
  return new Map(configs.map((config) => [config.schedulerName, createNamedProfile(deps, config)]));
}

function createNamedProfile(deps: ProfilesDeps, config: ProfileConfig): NamedProfile {
  const { schedulerName, enabled, weights, percentageOfNodesToScore } = config;
  const recorder = deps.recorderFor(schedulerName);
  const names = new Set(Object.values(enabled).flat());
  const plugins = [...names].map((name) => {
    const entry = deps.known.find((plugin) => plugin.name === name);
    if (entry === undefined) throw new Error(`no scheduler plugin is named ${name}`);
    return entry.create({ ...deps, recorder, schedulerName }, config.pluginArgs[name]);
  });
  checkPoints(config, plugins);
  const timer = deps.timerFor === undefined ? {} : { timer: deps.timerFor(schedulerName) };
  const parts = { schedulerName, plugins, weights, enabled, percentageOfNodesToScore, ...timer };
  return { ...createProfile(parts), recorder };
}

/** Checks that plugins named for a point implement it, that one sorts, and that at least one binds. */
function checkPoints(
  { explicit = [], enabled, schedulerName }: ProfileConfig,
  plugins: readonly SchedulerPlugin[],
): void {
  const find = (name: string): SchedulerPlugin | undefined => plugins.find((plugin) => plugin.name === name);
  const problems = explicit
    .filter(({ point, name }) => find(name)?.[methodOf(point)] === undefined)
    .map(
      ({ point, name, path }) => `${path}: Invalid value: "${name}": plugin "${name}" does not extend ${point} plugin`,
    );
  const serving = (point: 'queueSort' | 'bind'): number =>
    enabled[point].filter((name) => find(name)?.[methodOf(point)] !== undefined).length;
  if (serving('queueSort') !== 1)
    problems.push(`profile "${schedulerName}": exactly one queue sort plugin is required, got ${serving('queueSort')}`);
  if (serving('bind') === 0) problems.push(`profile "${schedulerName}": at least one bind plugin is needed`);
  if (problems.length > 0) throw new SchedulerConfigError(problems);
}
