/**
 * From the plugin sets of a configuration to the plugins of each extension point: the default multi-point set changed by the
 * profile's, then each point's own list. Upstream: default_plugins.go (mergePlugins) and framework.go (expandMultiPointPlugins).
 */
import { EXTENSION_POINTS, type ExtensionPoint } from '../framework/extension-points.ts';
import { defaultPlugins, knownPlugins } from '../plugins/list.ts';
import type { Fields } from './fields.ts';

interface Enabled {
  readonly name: string;
  /** 0: the configuration has none. */
  readonly weight: number;
}
interface PluginSet {
  readonly enabled: readonly Enabled[];
  readonly disabled: ReadonlySet<string>;
}

export interface MergedPlugins {
  readonly enabled: Readonly<Record<ExtensionPoint, readonly string[]>>;
  /** Plugins that the profile names for single extension points, which they must implement. */
  readonly explicit: readonly { readonly point: ExtensionPoint; readonly name: string; readonly path: string }[];
  readonly weights: Readonly<Record<string, number>>;
}

/** Reads `plugins` of a profile. */
export function readPlugins(plugins: Fields): MergedPlugins {
  const multiPoint = merge(
    defaultPlugins.map(({ name, weight }) => ({ name, weight })),
    readSet(plugins.object('multiPoint')),
  );
  const weights: Record<string, number> = {};
  const explicit: { point: ExtensionPoint; name: string; path: string }[] = [];
  for (const { name, weight } of multiPoint) weights[name] = weight === 0 ? 1 : weight;
  const enabled = {} as Record<ExtensionPoint, readonly string[]>;
  for (const point of EXTENSION_POINTS) {
    const fields = plugins.object(point);
    const set = readSet(fields);
    set.enabled.forEach(({ name, weight }, i) => {
      explicit.push({ point, name, path: `${fields.path}.enabled[${i}]` });
      if (point === 'score') weights[name] = weight === 0 ? 1 : weight;
    });
    enabled[point] = expand(multiPoint, set);
  }
  plugins.finish();
  return { enabled, explicit, weights };
}

function readSet(fields: Fields): PluginSet {
  const enabled = fields.objects('enabled').map((entry): Enabled => {
    const name = readName(entry);
    const weight = entry.number('weight', 0, { min: 0, max: 2 ** 31 - 1 });
    entry.finish();
    return { name, weight };
  });
  const names = enabled.map(({ name }) => name);
  names.forEach((name, i) => {
    if (names.indexOf(name) < i) fields.problems.push(`${fields.at(`enabled[${i}]`)}: Duplicate value: "${name}"`);
  });
  const disabled = fields.objects('disabled').map((entry) => {
    const name = entry.text('name', '');
    entry.number('weight', 0);
    entry.finish();
    return name;
  });
  fields.finish();
  return { enabled, disabled: new Set(disabled) };
}

function readName(entry: Fields): string {
  const name = entry.text('name', '');
  if (name === '') entry.required('name');
  else if (!knownPlugins.some((plugin) => plugin.name === name)) entry.invalid('name', name, 'plugin does not exist');
  return name;
}

/** Custom entries take the place of defaults of the same name, or follow them. */
function merge(defaults: readonly Enabled[], custom: PluginSet): Enabled[] {
  const customEnabled = new Map(custom.enabled.map((entry) => [entry.name, entry]));
  const remaining = custom.disabled.has('*')
    ? []
    : defaults
        .filter(({ name }) => !custom.disabled.has(name))
        .map((entry) => {
          const replacement = customEnabled.get(entry.name);
          customEnabled.delete(entry.name);
          return replacement ?? entry;
        });
  return [...remaining, ...customEnabled.values()];
}

/**
 * The order of a point: plugins that override the multi-point set, then the point's own, then the rest of the
 * multi-point set.
 */
function expand(multiPoint: readonly Enabled[], { enabled, disabled }: PluginSet): string[] {
  const general = disabled.has('*') ? [] : multiPoint.map(({ name }) => name).filter((name) => !disabled.has(name));
  const own = enabled.map(({ name }) => name);
  return [
    ...own.filter((name) => general.includes(name)),
    ...own.filter((name) => !general.includes(name)),
    ...general.filter((name) => !own.includes(name)),
  ];
}
