/**
 * Flags that set fields of the configuration, and removed flags. Upstream: AddKubeletConfigFlags. Flags override file
 * and drop-ins; feature gates are merged one by one.
 */
import { parseGoBoolean } from '../../base/go-boolean.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { FieldRow, FieldTable } from './field-table.ts';
import { FIELDS, type SparseConfiguration } from './fields.ts';
import { KubeletConfigurationError } from './decode.ts';

/** A flag and the field it sets. */
export interface ConfigurationFlag {
  readonly flag: string;
  readonly path: readonly string[];
  readonly row: FieldRow;
}

function flagsOf(table: FieldTable, path: readonly string[]): ConfigurationFlag[] {
  return Object.entries(table).flatMap(([name, row]) => [
    ...(row.flag === undefined ? [] : [{ flag: row.flag, path: [...path, name], row }]),
    ...(typeof row.type === 'object' && 'of' in row.type ? flagsOf(row.type.of, [...path, name]) : []),
  ]);
}

/** Every flag that sets a field. */
export const CONFIGURATION_FLAGS: readonly ConfigurationFlag[] = flagsOf(FIELDS, []);

/** Removed flags, with the field or flag that replaced each. */
export const REPLACED_FLAGS: Readonly<Record<string, string>> = {
  'api-servers': '--kubeconfig names a file with the API server to use',
  'allow-privileged': 'pods are allowed by Pod Security admission',
  'cadvisor-port': '/metrics/cadvisor is served on the port of --port',
  'cni-bin-dir': "the container runtime's own configuration names the network plugins",
  'cni-conf-dir': "the container runtime's own configuration names the networks",
  'container-runtime': '--container-runtime-endpoint names the runtime',
  'docker-endpoint': '--container-runtime-endpoint names the runtime',
  'experimental-bootstrap-kubeconfig': '--bootstrap-kubeconfig',
  'network-plugin': "the container runtime's own configuration names the network",
  'require-kubeconfig': 'it is what --kubeconfig does',
  'reconcile-cidr': 'the runtime gets the range of the Node object',
  'experimental-nvidia-gpus': 'device plugins announce GPUs',
  'storage-driver-db': 'usage is served on /stats/summary',
};

function pairs(flag: string, text: string, separator: string): [string, string][] {
  if (text === '') return [];
  return text.split(',').map((part) => {
    const at = part.indexOf(separator);
    if (at <= 0) throw invalid(flag, text, `malformed pair, expect string${separator}string`);
    return [part.slice(0, at).trim(), part.slice(at + separator.length).trim()];
  });
}

/** A flag's value cannot be parsed, or makes a valid configuration invalid. */
export class KubeletFlagError extends KubeletConfigurationError {}

function invalid(flag: string, text: string, why: string): KubeletFlagError {
  return new KubeletFlagError(`invalid argument ${JSON.stringify(text)} for "--${flag}" flag: ${why}`);
}

function boolOf(flag: string, text: string): boolean {
  const parsed = text === '' ? true : parseGoBoolean(text);
  if (parsed === undefined)
    throw invalid(flag, text, `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`);
  return parsed;
}

function taintsOf(flag: string, text: string): object[] {
  if (text === '') return [];
  return text.split(',').map((part) => {
    const match = /^([^=:]+)(?:=([^:]*))?:(\w+)$/.exec(part);
    if (match === null) throw invalid(flag, text, `invalid taint spec: ${part}`);
    const [, key, value = '', effect] = match;
    return { key, value: value === '' ? undefined : value, effect };
  });
}

/** `0:memory=1Gi,hugepages-2Mi=1Gi;1:memory=2Gi` */
function reservedMemoryOf(flag: string, text: string): object[] {
  if (text === '') return [];
  return text.split(';').map((part) => {
    const match = /^(\d+):(.+)$/.exec(part.trim());
    if (match === null) throw invalid(flag, text, `the reserved memory has incorrect format: ${part}`);
    return { numaNode: Number(match[1]), limits: Object.fromEntries(pairs(flag, match[2]!, '=')) };
  });
}

/** A map of header names to values, from `name:value` arguments. */
function headersOf(flag: string, texts: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of texts.flatMap((text) => pairs(flag, text, ':'))) (headers[name] ??= []).push(value);
  return headers;
}

/** The field's value from a flag's arguments; a field with one value takes the last. */
function valueOf({ flag, row }: ConfigurationFlag, texts: readonly string[]): unknown {
  const text = texts.at(-1) ?? '';
  switch (row.type) {
    case 'bool':
      return boolOf(flag, text);
    case 'int':
    case 'float':
      if (text.trim() === '' || Number.isNaN(Number(text)))
        throw invalid(flag, text, `strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
      return Number(text);
    case 'duration':
      if (parseDurationMs(text) === undefined)
        throw invalid(flag, text, `time: invalid duration ${JSON.stringify(text)}`);
      return text;
    case 'strings':
      return texts.flatMap((list) => (list === '' ? [] : list.split(',')));
    case 'quantities': {
      const separator = flag === 'eviction-hard' || flag === 'eviction-soft' ? '<' : '=';
      return Object.fromEntries(texts.flatMap((list) => pairs(flag, list, separator)));
    }
    case 'flags':
      return Object.fromEntries(
        texts.flatMap((list) => pairs(flag, list, '=').map(([name, value]) => [name, boolOf(flag, value)])),
      );
    case 'headers':
      return headersOf(flag, texts);
    default:
      if (typeof row.type !== 'object') return text;
      return texts.flatMap((list) =>
        flag === 'reserved-memory' ? reservedMemoryOf(flag, list) : taintsOf(flag, list),
      );
  }
}

/** The configuration with the flags' values. @throws KubeletFlagError for a value that cannot be parsed */
export function applyFlags(
  configuration: SparseConfiguration,
  flags: Readonly<Record<string, readonly string[]>>,
): SparseConfiguration {
  return CONFIGURATION_FLAGS.reduce((so, configurationFlag) => {
    const texts = flags[configurationFlag.flag];
    if (texts === undefined) return so;
    const value = valueOf(configurationFlag, texts);
    const merged =
      configurationFlag.row.type === 'flags' ? { ...(so['featureGates'] as object), ...(value as object) } : value;
    return withValue(so, configurationFlag.path, merged);
  }, configuration);
}

function withValue(object: SparseConfiguration, path: readonly string[], value: unknown): SparseConfiguration {
  const [name = '', ...rest] = path;
  if (rest.length === 0) return { ...object, [name]: value };
  return { ...object, [name]: withValue((object[name] ?? {}) as SparseConfiguration, rest, value) };
}
