/**
 * The complete input of a release: a HelmChart with its HelmChartConfig, the Secrets and the ConfigMap that they
 * refer to, and the chart's archive from a file or from the object. Its hash shows whether anything changed.
 * Upstream: helm-controller's job, valuesSecret, valuesSecretAddConfig and hashObjects.
 */
import { stringify } from 'yaml';
import { stringifyJson } from '../../api/codec/json.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { Stored } from '../../api/object.ts';
import { chartSource, ChartProblem, type ChartSource } from './chart-source.ts';
import type { HelmChart, HelmChartConfig, HelmChartSpec, ValuesSecret } from './helm-kinds.ts';

/** Reads the objects and files that a HelmChart refers to. */
export interface ReferencedObjects {
  /** Decoded data of a Secret; undefined when it is missing. */
  secret(name: string): Promise<Readonly<Record<string, string>> | undefined>;
  configMap(name: string): Promise<Readonly<Record<string, string>> | undefined>;
  /** A chart file in base64. @throws ChartProblem */
  chartFile(name: string): Promise<string>;
}

export interface ReleaseRequest {
  readonly name: string;
  readonly namespace: string;
  readonly targetNamespace: string;
  readonly source: ChartSource;
  /** The archive in base64, if it comes from the object or a file. */
  readonly content: string | undefined;
  /** By file name, in helm's order: later values override earlier ones. */
  readonly values: Readonly<Record<string, string>>;
  /** Values files whose changes do not cause an upgrade. */
  readonly ignoredValues: readonly string[];
  /** Arguments `--set` and `--set-string`. */
  readonly setArguments: readonly string[];
  readonly caPem: string;
  /** Data of the Secret with the repository's credentials. */
  readonly auth: Readonly<Record<string, string>> | undefined;
  /** Docker's `config.json`. */
  readonly dockerConfig: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly failurePolicy: NonNullable<HelmChartSpec['failurePolicy']>;
  readonly serverSide: NonNullable<HelmChartSpec['serverSide']>;
  readonly forceConflicts: boolean;
  readonly spec: HelmChartSpec;
}

/** @throws ChartProblem */
export async function readRelease(
  chart: Stored<HelmChart>,
  config: HelmChartConfig | undefined,
  referenced: ReferencedObjects,
  apiHost: string,
): Promise<ReleaseRequest> {
  const spec = chart.spec ?? {};
  const { name, namespace } = chart.metadata;
  const source = chartSource(spec, apiHost);
  // helm-controller itself writes a chart's values to a Secret of this name and therefore skips it.
  const ownSecret = `chart-values-${name}`;
  const files = [
    ...(await valuesOf([0, 'HelmChart'], spec, { referenced, ownSecret })),
    ...(await valuesOf([1, 'HelmChartConfig'], config?.spec ?? {}, { referenced, ownSecret })),
  ];
  return {
    name,
    namespace,
    targetNamespace: spec.targetNamespace || namespace,
    source,
    content: source.kind === 'file' ? await referenced.chartFile(source.name) : spec.chartContent || undefined,
    values: Object.fromEntries(files.map(({ file, text }) => [file, text])),
    ignoredValues: files.filter(({ isIgnored }) => isIgnored).map(({ file }) => file),
    setArguments: setArguments(spec.set ?? {}),
    caPem: await authorities(spec, referenced),
    auth: await requiredSecret('spec.authSecret', spec.authSecret?.name, referenced),
    dockerConfig: (await requiredSecret('spec.dockerRegistrySecret', spec.dockerRegistrySecret?.name, referenced))?.[
      '.dockerconfigjson'
    ],
    timeoutMs: timeoutOf(spec),
    failurePolicy: config?.spec?.failurePolicy ?? spec.failurePolicy ?? 'reinstall',
    serverSide: config?.spec?.serverSide ?? spec.serverSide ?? 'auto',
    forceConflicts: config?.spec?.forceConflicts ?? spec.forceConflicts ?? false,
    spec,
  };
}

/** Equal for requests that lead to the same release. `image`: that of the job; '' for a release of this process. */
export function requestHash(request: ReleaseRequest, image: string, sha256Hex: (text: string) => string): string {
  const { valuesSecrets: _secrets, chartContent: _content, ...spec } = request.spec;
  const ignored = Object.fromEntries(request.ignoredValues.map((file) => [file, '']));
  const values = { ...request.values, ...ignored };
  return sha256Hex(
    stringifyJson([image, { ...request, spec, values, auth: undefined, dockerConfig: undefined }]),
  ).toUpperCase();
}

/** Helm reads YAML 1.1, in which an unquoted yes, n, 1_000 or 0o14 is not a string. */
const QUOTED = { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE', lineWidth: 0 } as const;

interface ValuesFile {
  readonly file: string;
  readonly text: string;
  readonly isIgnored: boolean;
}

async function valuesOf(
  [rank, kind]: readonly [number, string],
  { valuesContent = '', values, valuesSecrets = [] }: Pick<HelmChartSpec, 'values' | 'valuesContent' | 'valuesSecrets'>,
  { referenced, ownSecret }: { readonly referenced: ReferencedObjects; readonly ownSecret: string },
): Promise<ValuesFile[]> {
  const files: ValuesFile[] = [];
  const add = (place: number, what: string, text: string, isIgnored = false): void => {
    files.push({ file: `values-${rank}-${String(place).padStart(3, '0')}-${kind}-${what}.yaml`, text, isIgnored });
  };
  const isEmpty = values === undefined || values === null || stringifyJson(values) === '{}';
  if (valuesContent !== '') add(0, 'ValuesContent', valuesContent);
  if (!isEmpty) add(1, 'Values', stringify(values, QUOTED));
  let place = 1;
  for (const secret of valuesSecrets) {
    if ((secret.keys ?? []).length === 0 || secret.name === ownSecret) continue;
    const data = await referenced.secret(secret.name ?? '');
    for (const key of secret.keys ?? []) {
      place++;
      const text = valueOf(secret, key, data);
      if (text !== undefined) add(place, 'ValuesSecret', text, secret.ignoreUpdates);
    }
  }
  return files;
}

function valueOf(
  { name = '', ignoreUpdates = false }: ValuesSecret,
  key: string,
  data: Readonly<Record<string, string>> | undefined,
): string | undefined {
  if (data !== undefined && Object.hasOwn(data, key)) return data[key];
  if (ignoreUpdates) return undefined;
  throw new ChartProblem(
    data === undefined
      ? `valuesSecrets: there is no Secret ${name}`
      : `valuesSecrets: Secret ${name} has no key ${key}`,
  );
}

async function requiredSecret(
  where: string,
  name: string | undefined,
  referenced: ReferencedObjects,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (name === undefined || name === '') return undefined;
  const data = await referenced.secret(name);
  if (data === undefined) throw new ChartProblem(`${where}: there is no Secret ${name}`);
  return data;
}

async function authorities(
  { repoCA = '', repoCAConfigMap }: HelmChartSpec,
  referenced: ReferencedObjects,
): Promise<string> {
  const name = repoCAConfigMap?.name ?? '';
  const data = name === '' ? {} : await referenced.configMap(name);
  if (data === undefined) throw new ChartProblem(`spec.repoCAConfigMap: there is no ConfigMap ${name}`);
  return [
    repoCA,
    ...Object.keys(data)
      .sort()
      .map((key) => data[key]!),
  ]
    .filter((pem) => pem !== '')
    .join('\n');
}

function timeoutOf({ timeout = '' }: HelmChartSpec): number | undefined {
  if (timeout === '') return undefined;
  const timeoutMs = usableTimeout({ timeout });
  if (timeoutMs === undefined) throw new ChartProblem(`spec.timeout: ${timeout} is no duration such as 10m`);
  return timeoutMs;
}

function usableTimeout({ timeout = '' }: HelmChartSpec): number | undefined {
  const timeoutMs = parseDurationMs(timeout);
  return timeoutMs !== undefined && timeoutMs > 0 ? timeoutMs : undefined;
}

/** Numbers, booleans and null are typed values; everything else is a string, with commas escaped. Upstream: args. */
export function setArguments(set: NonNullable<HelmChartSpec['set']>): string[] {
  return Object.keys(set)
    .sort()
    .flatMap((key) => {
      const value = set[key]!;
      if (typeof value !== 'string' || /^(true|false|null)$/i.test(value)) return ['--set', `${key}=${value}`];
      const escaped = value.replaceAll(/\\*,/g, (match) => (match.length % 2 === 1 ? `\\${match}` : match));
      return ['--set-string', `${key}=${escaped}`];
    });
}

/** The request of an uninstall, for which the objects that the chart refers to need not exist. */
export function removalRequest(chart: Stored<HelmChart>): ReleaseRequest {
  const { chart: _chart, ...spec } = chart.spec ?? {};
  const { name, namespace } = chart.metadata;
  return {
    name,
    namespace,
    targetNamespace: spec.targetNamespace || namespace,
    source: { kind: 'content' },
    content: undefined,
    values: {},
    ignoredValues: [],
    setArguments: [],
    caPem: '',
    auth: undefined,
    dockerConfig: undefined,
    timeoutMs: usableTimeout(spec),
    failurePolicy: 'reinstall',
    serverSide: 'auto',
    forceConflicts: false,
    spec,
  };
}
