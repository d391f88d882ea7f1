/**
 * The early releases' predicates and priorities, with the plugins that implement them. Upstream:
 * plugin/pkg/scheduler/factory/plugins.go and algorithmprovider of v1.0 and v1.1.
 */
import type { ExtensionPoint } from '../framework/extension-points.ts';

/** A plugin at the extension points that the old name stands for. */
interface PluginUse {
  readonly plugin: string;
  readonly points: readonly ExtensionPoint[];
}

const filtering = (plugin: string): PluginUse => ({ plugin, points: ['preFilter', 'filter'] });

const ports = filtering('NodePorts');
const resources = filtering('NodeResourcesFit');
const selector = filtering('NodeAffinity');
const host = filtering('NodeName');

/** The plugins of each predicate. Two names in a line: the predicate was renamed between early releases. */
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

/** The plugin of each priority. */
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

/** The early releases' algorithm providers. */
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
