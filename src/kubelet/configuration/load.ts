/**
 * Loads the configuration at start: defaults, then settings of the host program, then the file of `--config`, then
 * the drop-ins of `--config-dir` in path order, then flags. Upstream: loadConfig, mergeKubeletConfigurations and
 * kubeletConfigFlagPrecedence in cmd/kubelet/app.
 */
import { parseDurationMs } from '../../api/duration.ts';
import { errorMessage, aggregateText } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import { decodeConfiguration, KubeletConfigurationError } from './decode.ts';
import { FIELDS, completeConfiguration, type SparseConfiguration, type KubeletConfigurationV1Beta1 } from './fields.ts';
import { applyFlags, KubeletFlagError } from './flags.ts';
import { validateConfiguration } from './validate.ts';

/** Where the configuration comes from. */
export interface ConfigurationSources {
  /** Defaults that file and flags override. */
  readonly base?: SparseConfiguration;
  /** A file of YAML or JSON. */
  readonly file?: string;
  /** Files below it that end in `.conf` are merged over the file. */
  readonly dropInDir?: string;
  /** Arguments by flag, names without dashes. */
  readonly flags?: Readonly<Record<string, readonly string[]>>;
}

/**
 * Reads, merges and validates. @throws KubeletConfigurationError with every error; a `KubeletFlagError` where the
 * files alone would be valid
 */
export async function loadConfiguration(
  files: Pick<Files, 'readText' | 'readDir' | 'stat'>,
  { base = {}, file, dropInDir, flags = {} }: ConfigurationSources,
): Promise<KubeletConfigurationV1Beta1> {
  let configuration = base;
  if (file !== undefined) configuration = mergePatch(configuration, await readFile(files, file)) as SparseConfiguration;
  for (const path of dropInDir === undefined ? [] : await dropIns(files, dropInDir))
    configuration = mergePatch(configuration, await readFile(files, path)) as SparseConfiguration;
  const completeWith = (texts: typeof flags): KubeletConfigurationV1Beta1 =>
    completeConfiguration(withEvictionDefaults(applyFlags(withReportFrequency(configuration), texts)));
  const config = completeWith(flags);
  const complaints = validateConfiguration(config);
  if (complaints.length === 0) return config;
  const texts = complaints.map((complaint) => `invalid configuration: ${complaint}`);
  const Fault = validateConfiguration(completeWith({})).length === 0 ? KubeletFlagError : KubeletConfigurationError;
  throw new Fault(`failed to validate kubelet configuration, error: ${aggregateText(texts)}, path: ${file ?? ''}`);
}

/** nodeStatusUpdateFrequency without nodeStatusReportFrequency sets both, as upstream. */
function withReportFrequency(configuration: SparseConfiguration): SparseConfiguration {
  const isSet = (name: string): boolean => (parseDurationMs((configuration[name] ?? '0s') as string) ?? 0) !== 0;
  if (!isSet('nodeStatusUpdateFrequency') || isSet('nodeStatusReportFrequency')) return configuration;
  return { ...configuration, nodeStatusReportFrequency: configuration['nodeStatusUpdateFrequency'] };
}

/** By default evictionHard replaces all hard thresholds: those it does not name are off. */
function withEvictionDefaults(configuration: SparseConfiguration): SparseConfiguration {
  if (configuration['mergeDefaultEvictionSettings'] !== true || configuration['evictionHard'] === undefined)
    return configuration;
  return {
    ...configuration,
    evictionHard: { ...FIELDS.evictionHard.default, ...(configuration['evictionHard'] as object) },
  };
}

async function readFile(files: Pick<Files, 'readText'>, path: string): Promise<SparseConfiguration> {
  const { parseYaml } = await import('../../api/codec/yaml.ts');
  try {
    return decodeConfiguration(parseYaml(await files.readText(path)), path);
  } catch (error) {
    if (error instanceof KubeletConfigurationError) throw error;
    const reason = errorMessage(error);
    throw new KubeletConfigurationError(`failed to load kubelet config file, path: ${path}, error: ${reason}`, {
      cause: error,
    });
  }
}

/** Paths of the drop-ins, sorted, including subfolders. */
async function dropIns(files: Pick<Files, 'readDir' | 'stat'>, dir: string): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for (const name of await files.readDir(folder)) {
      const path = `${folder}/${name}`;
      const { kind } = await files.stat(path);
      if (kind === 'directory') await walk(path);
      else if (kind === 'file' && name.endsWith('.conf')) found.push(path);
    }
  };
  try {
    await walk(dir);
  } catch (error) {
    throw new KubeletConfigurationError(
      `failed to walk through kubelet dropin directory "${dir}": ${errorMessage(error)}`,
      { cause: error },
    );
  }
  return found.sort();
}

/** RFC 7396: objects are merged, everything else is replaced. */
function mergePatch(target: unknown, patch: unknown): unknown {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(patch)) return patch;
  const base = isObject(target) ? target : {};
  const names = new Set([...Object.keys(base), ...Object.keys(patch)]);
  const merged = [...names].map((name) => [
    name,
    Object.hasOwn(patch, name) ? mergePatch(base[name], patch[name]) : base[name],
  ]);
  return Object.fromEntries(merged.filter(([, value]) => value !== null)) as unknown;
}
