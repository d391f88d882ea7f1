/**
 * Reads a scheduler policy file (kind Policy, version v1) of the early releases, or an algorithm provider, into a
 * profile. Beside the policy's plugins the profile always sorts, binds, respects gates, cordons and taints, and binds
 * volumes, since today's pods need them. Upstream: CreateFromConfig of v1.0.
 */
import { parseYaml, YamlSyntaxError } from '../../api/codec/yaml.ts';
import { Fields, SchedulerConfigError } from '../config/fields.ts';
import { readExtenders, type ExtenderConfig } from '../config/read-extenders.ts';
import { defaultSchedulerConfig, enabledEverywhere, type SchedulerConfig } from '../config/scheduler-config.ts';
import type { ExtensionPoint } from '../framework/extension-points.ts';
import type { NodeLabelArgs } from '../plugins/node-label/node-label.ts';
import type { ServiceAffinityArgs } from '../plugins/service-affinity/service-affinity.ts';
import { ALGORITHM_PROVIDERS, predicates, PRIORITIES } from './early-names.ts';
import { appendAll } from '../../base/lists.ts';

interface PolicyDraft {
  readonly enabled: Record<ExtensionPoint, string[]>;
  readonly weights: Record<string, number>;
  readonly nodeLabel: { -readonly [K in keyof NodeLabelArgs]: string[] };
  readonly serviceAffinity: { -readonly [K in keyof ServiceAffinityArgs]: string[] };
}

/** The configuration of an algorithm provider. @throws SchedulerConfigError for an unknown name */
export function providerConfig(name: string, schedulerName: string): SchedulerConfig {
  const provider = ALGORITHM_PROVIDERS[name];
  if (provider === undefined) throw new SchedulerConfigError([`plugin "${name}" has not been registered`]);
  const building = newPolicyDraft();
  for (const predicate of provider.predicates) addPredicate(building, predicate);
  for (const { name: priority, weight } of provider.priorities) addPriority(building, priority, weight);
  return schedulerConfigOf(building, schedulerName, []);
}

/** The configuration of a policy text. @throws SchedulerConfigError with all errors */
export function readPolicy(text: string, schedulerName: string): SchedulerConfig {
  const problems: string[] = [];
  const root = new Fields(parse(text), '', problems);
  if (root.text('kind', 'Policy') !== 'Policy') root.invalid('kind', root.raw('kind'), 'must be Policy');
  root.text('apiVersion', 'v1');
  const building = newPolicyDraft();
  const fallback = ALGORITHM_PROVIDERS['DefaultProvider'];
  if (root.has('predicates')) for (const entry of root.objects('predicates')) readPredicate(building, entry);
  else for (const name of fallback?.predicates ?? []) addPredicate(building, name);
  if (root.has('priorities')) for (const entry of root.objects('priorities')) readPriority(building, entry);
  else for (const { name, weight } of fallback?.priorities ?? []) addPriority(building, name, weight);
  const extenders = readExtenders(root);
  root.finish();
  if (problems.length > 0) throw new SchedulerConfigError(problems);
  return schedulerConfigOf(building, schedulerName, extenders);
}

function parse(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw new SchedulerConfigError([error.message], { cause: error });
    throw error;
  }
}

function newPolicyDraft(): PolicyDraft {
  const enabled = Object.fromEntries(
    Object.keys(enabledEverywhere([])).map((point): [string, string[]] => [point, []]),
  ) as Record<ExtensionPoint, string[]>;
  enabled.preEnqueue.push('SchedulingGates');
  enabled.queueSort.push('PrioritySort');
  enabled.filter.push('NodeUnschedulable', 'TaintToleration', 'VolumeBinding');
  enabled.preFilter.push('VolumeBinding');
  enabled.reserve.push('VolumeBinding');
  enabled.preBind.push('VolumeBinding');
  enabled.postBind.push('VolumeBinding');
  enabled.bind.push('DefaultBinder');
  return {
    enabled,
    weights: {},
    nodeLabel: { presentLabels: [], absentLabels: [], presentLabelsPreference: [], absentLabelsPreference: [] },
    serviceAffinity: { affinityLabels: [], antiAffinityLabelsPreference: [] },
  };
}

function enable({ enabled }: PolicyDraft, plugin: string, points: readonly ExtensionPoint[]): void {
  for (const point of points) if (!enabled[point].includes(plugin)) enabled[point].push(plugin);
}

function addPredicate(building: PolicyDraft, name: string): boolean {
  const uses = predicates[name];
  for (const { plugin, points } of uses ?? []) enable(building, plugin, points);
  return uses !== undefined;
}

function addPriority(building: PolicyDraft, name: string, weight: number): boolean {
  const plugin = PRIORITIES[name];
  if (plugin === undefined) return false;
  enable(building, plugin, ['preScore', 'score']);
  building.weights[plugin] = (building.weights[plugin] ?? 0) + weight;
  return true;
}

/** A predicate with an argument is what the argument configures, whatever its name. */
function readPredicate(building: PolicyDraft, entry: Fields): void {
  const name = entry.text('name', '');
  const argument = entry.object('argument');
  if (argument.has('labelsPresence')) {
    const presence = argument.object('labelsPresence');
    const labels = presence.texts('labels');
    appendAll(building.nodeLabel[presence.bool('presence', false) ? 'presentLabels' : 'absentLabels'], labels);
    presence.finish();
    enable(building, 'NodeLabel', ['filter']);
  } else if (argument.has('serviceAffinity')) {
    const affinity = argument.object('serviceAffinity');
    appendAll(building.serviceAffinity.affinityLabels, affinity.texts('labels'));
    affinity.finish();
    enable(building, 'ServiceAffinity', ['preFilter', 'filter']);
  } else if (name === 'CheckNodeLabelPresence') argument.required('labelsPresence');
  else if (name === 'CheckServiceAffinity') argument.required('serviceAffinity');
  else if (!addPredicate(building, name)) entry.invalid('name', name, 'no such predicate');
  argument.finish();
  entry.finish();
}

function readPriority(building: PolicyDraft, entry: Fields): void {
  const name = entry.text('name', '');
  const weight = entry.number('weight', 0);
  if (weight <= 0) entry.invalid('weight', weight, `Priority ${name} should have a positive weight applied to it`);
  const argument = entry.object('argument');
  const weigh = (plugin: string): void => {
    enable(building, plugin, ['preScore', 'score']);
    building.weights[plugin] = (building.weights[plugin] ?? 0) + weight;
  };
  if (argument.has('labelPreference')) {
    const preference = argument.object('labelPreference');
    const label = preference.text('label', '');
    if (label === '') preference.required('label');
    const list = preference.bool('presence', false) ? 'presentLabelsPreference' : 'absentLabelsPreference';
    building.nodeLabel[list].push(label);
    preference.finish();
    weigh('NodeLabel');
  } else if (argument.has('serviceAntiAffinity')) {
    const anti = argument.object('serviceAntiAffinity');
    building.serviceAffinity.antiAffinityLabelsPreference.push(anti.text('label', ''));
    anti.finish();
    weigh('ServiceAffinity');
  } else if (name === 'CalculateNodeLabelPriority') argument.required('labelPreference');
  else if (!addPriority(building, name, weight)) entry.invalid('name', name, 'no such priority');
  argument.finish();
  entry.finish();
}

function schedulerConfigOf(
  { enabled, weights, nodeLabel, serviceAffinity }: PolicyDraft,
  schedulerName: string,
  extenders: readonly ExtenderConfig[],
): SchedulerConfig {
  const [profile] = defaultSchedulerConfig(schedulerName).profiles;
  return {
    ...defaultSchedulerConfig(schedulerName),
    extenders,
    profiles:
      profile === undefined
        ? []
        : [
            {
              ...profile,
              enabled,
              weights,
              pluginArgs: {
                NodeLabel: nodeLabel satisfies NodeLabelArgs,
                ServiceAffinity: serviceAffinity satisfies ServiceAffinityArgs,
              },
            },
          ],
  };
}
