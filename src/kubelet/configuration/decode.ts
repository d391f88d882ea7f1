/**
 * Reads KubeletConfiguration strictly: unknown fields, keys that occur twice and values of the wrong type are errors that
 * name the field's path. Upstream: pkg/kubelet/kubeletconfig/configfiles with a strict codec.
 */
import { shown } from '../../base/shown.ts';
import { isObject } from '../../api/codec/own-property.ts';
import type { ParsedJson } from '../../api/codec/json-parser.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { FieldTable, FieldType } from './field-table.ts';
import { FIELDS, KUBELET_CONFIG_API_VERSION, type SparseConfiguration } from './fields.ts';

/** An invalid configuration; the message lists every error. */
export class KubeletConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KubeletConfigurationError';
  }
}

const GO_TYPES: Readonly<Record<Exclude<FieldType, object>, string>> = {
  bool: 'bool',
  int: 'int32',
  float: 'float64',
  string: 'string',
  duration: 'string',
  timeOrDuration: 'string',
  strings: '[]string',
  quantities: 'map[string]string',
  flags: 'map[string]bool',
  headers: 'map[string][]string',
};

const isText = (value: unknown): boolean => typeof value === 'string';
const isMapOf = (value: unknown, ok: (part: unknown) => boolean): boolean =>
  isObject(value) && Object.values(value).every(ok);
const CHECKS: Readonly<Record<Exclude<FieldType, object>, (value: unknown) => boolean>> = {
  bool: (value) => typeof value === 'boolean',
  int: (value) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31,
  float: (value) => typeof value === 'number',
  string: isText,
  duration: isText,
  timeOrDuration: (value) => isText(value) || Number.isInteger(value),
  strings: (value) => Array.isArray(value) && value.every(isText),
  quantities: (value) => isMapOf(value, isText),
  flags: (value) => isMapOf(value, (part) => typeof part === 'boolean'),
  headers: (value) => isMapOf(value, (part) => Array.isArray(part) && part.every(isText)),
};

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'number' ? `number${Number.isInteger(value) ? '' : ` ${value}`}` : typeof value;
}

function wrongType(value: unknown, path: string, type: string): string {
  return `json: cannot unmarshal ${kindOf(value)} into Go struct field KubeletConfiguration.${path} of type ${type}`;
}

/** Every error of the value at `path`. */
function complaintsAbout(value: unknown, type: FieldType, path: string): string[] {
  if (value === null || value === undefined) return [];
  if (typeof type !== 'object') {
    if (!CHECKS[type](value)) return [wrongType(value, path, GO_TYPES[type])];
    const isDuration = type === 'duration' || (type === 'timeOrDuration' && isText(value));
    if (!isDuration || parseDurationMs(value as string) !== undefined) return [];
    return [`${path}: time: invalid duration ${JSON.stringify(value)}`];
  }
  if ('of' in type)
    return isObject(value) ? complaintsAboutFields(value, type.of, `${path}.`) : [wrongType(value, path, 'object')];
  if (!Array.isArray(value)) return [wrongType(value, path, '[]object')];
  return value.flatMap((item: unknown, index) => {
    const at = `${path}[${index}]`;
    return isObject(item) ? complaintsAboutFields(item, type.list, `${at}.`) : [wrongType(item, at, 'object')];
  });
}

function complaintsAboutFields(values: SparseConfiguration, table: FieldTable, prefix: string): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const row = Object.hasOwn(table, name) ? table[name] : undefined;
    return row === undefined
      ? [`unknown field "${prefix}${name}"`]
      : complaintsAbout(value, row.type, `${prefix}${name}`);
  });
}

/** The fields of a parsed file. @throws KubeletConfigurationError with every error */
export function decodeConfiguration({ value, duplicates }: ParsedJson, file: string): SparseConfiguration {
  const fail = (text: string): never => {
    throw new KubeletConfigurationError(`failed to load kubelet config file, path: ${file}, error: ${text}`);
  };
  if (!isObject(value)) return fail('the file is empty or not an object');
  const { apiVersion, kind, ...fields } = value;
  if (apiVersion !== KUBELET_CONFIG_API_VERSION || kind !== 'KubeletConfiguration') {
    const [actualKind, version] = [shown(kind ?? ''), shown(apiVersion ?? '')];
    return fail(
      actualKind === ''
        ? "Object 'Kind' is missing"
        : `no kind "${actualKind}" is registered for version "${version}" in scheme "pkg/kubelet/apis/config/scheme/scheme.go"`,
    );
  }
  const complaints = [...duplicates, ...complaintsAboutFields(fields, FIELDS, '')];
  if (complaints.length > 0) return fail(`strict decoding error: ${complaints.join(', ')}`);
  return fields;
}
