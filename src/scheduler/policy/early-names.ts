/** The early releases' predicates and priorities, and the plugins that do their work. Upstream: plugin/pkg/scheduler/factory/plugins.go and algorithmprovider of v1.0 and v1.1. */
import type { ExtensionPoint } from '../framework/extension-points.ts';

/** A plugin at the points that make up the old name. */
interface PluginUse {
  readonly plugin: string;
  readonly points: readonly ExtensionPoint[];
}

const filtering = (plugin: string): PluginUse => ({ plugin, points: ['preFilter', 'filter'] });

const ports = filtering('NodePorts');
const resources = filtering('NodeResourcesFit');
const selector = filtering('NodeAffinity');
const host = filtering('NodeName');

/** What each predicate is now. Two names of a line: renamed from one early release to the next. */
export const predicates: Readonly<Record<string, readonly PluginUse[]>> = {
  PodFitsPorts: [ports],
  PodFitsHostPorts: [ports],
  PodFitsResources: [resources],
  NoDiskConflict: [filtering('VolumeRestrictions')],
  PodSelectorMatches: [selector],
  MatchNodeSelector: [selector],
  PodFitsHost: [host],
  HostName: [host],
  GeneralPredicates: [resources, host, ports, selector],
};

/** What each priority is now. */
export const PRIORITIES: Readonly<Record<string, string>> = {
  LeastRequestedPriority: 'LeastRequestedPriority',
  BalancedResourceAllocation: 'BalancedResourceAllocation',
  ServiceSpreadingPriority: 'ServiceSpreadingPriority',
  SelectorSpreadPriority: 'SelectorSpread',
  EqualPriority: 'EqualPriority',
};

/** Predicates and priorities of an algorithm provider. */
export interface AlgorithmProvider {
  readonly predicates: readonly string[];
  readonly priorities: readonly { readonly name: string; readonly weight: number }[];
}

/** The providers there were. */
export const ALGORITHM_PROVIDERS: Readonly<Record<string, AlgorithmProvider>> = {
  DefaultProvider: {
    predicates: ['PodFitsPorts', 'PodFitsResources', 'NoDiskConflict', 'PodSelectorMatches', 'PodFitsHost'],
    priorities: [
      { name: 'LeastRequestedPriority', weight: 1 },
      { name: 'BalancedResourceAllocation', weight: 1 },
      { name: 'ServiceSpreadingPriority', weight: 1 },
    ],
  },
};
