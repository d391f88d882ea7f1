/** What a scheduler is told, checked and complete: profiles with their plugins per extension point, back-off, extenders. Upstream: KubeSchedulerConfiguration after defaulting. */
import { EXTENSION_POINTS, type ExtensionPoint } from '../framework/extension-points.ts';
import { defaultPlugins } from '../plugins/list.ts';

import type { ExtenderConfig } from './read-extenders.ts';

/** One profile: what pods that name it get. */
export interface ProfileConfig {
  readonly schedulerName: string;
  /** Names in order, by point. */
  readonly enabled: Readonly<Record<ExtensionPoint, readonly string[]>>;
  /** Named for one point: they must implement it. */
  readonly explicit?: readonly { readonly point: ExtensionPoint; readonly name: string; readonly path: string }[];
  readonly weights: Readonly<Record<string, number>>;
  /** Checked arguments, by plugin. */
  readonly pluginArgs: Readonly<Record<string, unknown>>;
  /** 0: adapts to the cluster's size. */
  readonly percentageOfNodesToScore: number;
}

export interface SchedulerConfig {
  readonly profiles: readonly ProfileConfig[];
  readonly podInitialBackoffMs: number;
  readonly podMaxBackoffMs: number;
  readonly extenders: readonly ExtenderConfig[];
  /** Paths of settings that change nothing here; the log lists them. */
  readonly withoutEffect?: readonly string[];
}

/** All points with the same names: a plugin serves those points it implements. */
export function enabledEverywhere(names: readonly string[]): Readonly<Record<ExtensionPoint, readonly string[]>> {
  return Object.fromEntries(EXTENSION_POINTS.map((point) => [point, names])) as Readonly<
    Record<ExtensionPoint, readonly string[]>
  >;
}

/** The configuration of a scheduler without a file. */
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
