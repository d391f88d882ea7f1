/** A checked and complete scheduler configuration: profiles with their plugins per extension point, back-off, extenders. Upstream: KubeSchedulerConfiguration after defaulting. */
import { EXTENSION_POINTS, type ExtensionPoint } from '../framework/extension-points.ts';
import { defaultPlugins } from '../plugins/list.ts';

import type { ExtenderConfig } from './read-extenders.ts';

/** One profile: the plugins for pods with its scheduler name. */
export interface ProfileConfig {
  readonly schedulerName: string;
  /** Plugin names in call order, by extension point. */
  readonly enabled: Readonly<Record<ExtensionPoint, readonly string[]>>;
  /** Plugins that the profile names for single extension points, which they must implement. */
  readonly explicit?: readonly { readonly point: ExtensionPoint; readonly name: string; readonly path: string }[];
  readonly weights: Readonly<Record<string, number>>;
  /** Validated arguments, by plugin. */
  readonly pluginArgs: Readonly<Record<string, unknown>>;
  /** 0: depends on the size of the cluster. */
  readonly percentageOfNodesToScore: number;
}

export interface SchedulerConfig {
  readonly profiles: readonly ProfileConfig[];
  readonly podInitialBackoffMs: number;
  readonly podMaxBackoffMs: number;
  readonly extenders: readonly ExtenderConfig[];
  /** Paths of settings that have no effect here; the log lists them. */
  readonly withoutEffect?: readonly string[];
}

/** Every point with the same names: a plugin serves the points that it implements. */
export function enabledEverywhere(names: readonly string[]): Readonly<Record<ExtensionPoint, readonly string[]>> {
  return Object.fromEntries(EXTENSION_POINTS.map((point) => [point, names])) as Readonly<
    Record<ExtensionPoint, readonly string[]>
  >;
}

/** The configuration without a configuration file. */
export function defaultSchedulerConfig(schedulerName: string = 'default-scheduler'): SchedulerConfig {
  const profile: ProfileConfig = {
    schedulerName,
    enabled: enabledEverywhere(defaultPlugins.map(({ name }) => name)),
    weights: Object.fromEntries(defaultPlugins.map(({ name, weight }) => [name, weight])),
    pluginArgs: {},
    percentageOfNodesToScore: 0,
  };
  return { profiles: [profile], podInitialBackoffMs: 1000, podMaxBackoffMs: 10_000, extenders: [] };
}
