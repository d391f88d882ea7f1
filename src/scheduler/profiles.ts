/** Makes the profiles a configuration speaks of: one set of plugin instances each. Upstream: profile.NewMap. */
import type { EventRecorder } from '../client/event-recorder.ts';
import type { ProfileConfig } from './config/scheduler-config.ts';
import type { SchedulerPluginDeps } from './framework/plugin-deps.ts';
import { createProfile, type Profile } from './framework/profile.ts';
import { defaultPlugins } from './plugins/list.ts';

/** A profile with the recorder that signs with its name. */
export interface NamedProfile extends Profile {
  readonly recorder: EventRecorder;
}

/** What all profiles share. */
export interface ProfilesDeps extends Omit<SchedulerPluginDeps, 'recorder' | 'schedulerName'> {
  readonly recorderFor: (component: string) => EventRecorder;
}

/** Profiles by scheduler name. Throws on a plugin nobody knows: the configuration was not checked. */
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
    const entry = defaultPlugins.find((plugin) => plugin.name === name);
    if (entry === undefined) throw new Error(`no scheduler plugin is named ${name}`);
    return entry.create({ ...deps, recorder, schedulerName });
  });
  return { ...createProfile({ schedulerName, plugins, weights, enabled, percentageOfNodesToScore }), recorder };
}
