/**
 * Reads CredentialProviderConfig (kubelet.config.k8s.io): which programs provide credentials for which images.
 * Strict: unknown or invalid fields are errors with the field's path. For a directory its files (.json, .yaml, .yml)
 * are read in order of their names. Upstream: pkg/credentialprovider/plugin/config.go.
 */
import { fieldsOf } from '../../base/fields-of.ts';
import { parseYaml } from '../../api/codec/yaml.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { Files } from '../../platform/files.ts';
import { appendAll } from '../../base/lists.ts';

/** The service account token that a program gets with each request. */
export interface ProviderTokenAttributes {
  readonly serviceAccountTokenAudience: string;
  /** The cache key: the token itself, or the account. */
  readonly cacheType: 'Token' | 'ServiceAccount';
  readonly requireServiceAccount: boolean;
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}

export interface CredentialProvider {
  /** The program's file name in the directory of credential providers. */
  readonly name: string;
  readonly matchImages: readonly string[];
  readonly defaultCacheDurationMs: number;
  /** The API version of the request and its answer. */
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly tokenAttributes?: ProviderTokenAttributes;
}

const CONFIG_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `kubelet.config.k8s.io/${version}`);
const EXEC_VERSIONS = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `credentialprovider.kubelet.k8s.io/${version}`);
const TOP_FIELDS = ['apiVersion', 'kind', 'providers'];
const PROVIDER_FIELDS = ['name', 'matchImages', 'defaultCacheDuration', 'apiVersion', 'args', 'env', 'tokenAttributes'];
const TOKEN_FIELDS = [
  'serviceAccountTokenAudience',
  'cacheType',
  'requireServiceAccount',
  'requiredServiceAccountAnnotationKeys',
  'optionalServiceAccountAnnotationKeys',
];

type ConfigFields = Readonly<Record<string, unknown>>;

/** Reads and validates the configuration and checks that its programs exist. @throws Error with every error */
export async function readCredentialProviders(
  files: Pick<Files, 'readText' | 'readDir' | 'stat'>,
  { config, binDir }: { readonly config: string; readonly binDir: string },
): Promise<readonly CredentialProvider[]> {
  const { kind } = await files.stat(config);
  const names = kind === 'directory' ? await files.readDir(config) : [];
  const paths =
    kind === 'directory'
      ? names
          .filter((name) => /\.(json|ya?ml)$/.test(name))
          .sort()
          .map((name) => `${config}/${name}`)
      : [config];
  if (paths.length === 0) throw new Error(`no configuration files found in credential provider directory ${config}`);
  const problems: string[] = [];
  const providers: CredentialProvider[] = [];
  for (const path of paths) {
    const { value, duplicates } = parseYaml(await files.readText(path));
    const complain = (text: string): void => {
      problems.push(`${path}: ${text}`);
    };
    duplicates.forEach(complain);
    const fields = fieldsOf(value);
    appendAll(providers, providersOf(fields, complain));
  }
  const all = providers.map(({ name }) => name);
  for (const name of new Set(all.filter((each, at) => all.indexOf(each) !== at)))
    problems.push(`provider name ${JSON.stringify(name)} is not unique`);
  for (const name of new Set(all)) {
    const path = `${binDir}/${name}`;
    const isFile = await files.stat(path).then(
      (stat) => stat.kind === 'file',
      () => false,
    );
    if (name !== '' && !isFile) problems.push(`plugin binary executable ${path} did not exist`);
  }
  if (problems.length > 0) throw new Error(`invalid credential provider configuration: ${problems.join('; ')}`);
  return providers;
}

function providersOf(fields: ConfigFields, complain: (text: string) => void): CredentialProvider[] {
  if (fields['kind'] !== 'CredentialProviderConfig' || !CONFIG_VERSIONS.includes(String(fields['apiVersion']))) {
    complain(`${String(fields['apiVersion'])}, kind ${String(fields['kind'])} is no CredentialProviderConfig`);
    return [];
  }
  unknownFields(fields, TOP_FIELDS, { path: '', complain });
  const list = fields['providers'];
  if (!Array.isArray(list) || list.length === 0) {
    complain('providers: Required value: at least 1 item in plugins is required');
    return [];
  }
  return list.map((each, at) => providerOf(fieldsOf(each), `providers[${at}].`, complain));
}

interface Complaints {
  readonly path: string;
  readonly complain: (text: string) => void;
}

function unknownFields(fields: ConfigFields, known: readonly string[], { path, complain }: Complaints): void {
  for (const name of Object.keys(fields)) if (!known.includes(name)) complain(`unknown field "${path}${name}"`);
}

function providerOf(fields: ConfigFields, path: string, complain: (text: string) => void): CredentialProvider {
  unknownFields(fields, PROVIDER_FIELDS, { path, complain });
  const name = textOf(fields['name']);
  if (name === '') complain(`${path}name: Required value: name is required`);
  if (/[\s/]/.test(name) || name === '.' || name === '..')
    complain(`${path}name: Invalid value: ${JSON.stringify(name)}: provider name cannot be a path or contain spaces`);
  const matchImages = textsOf(fields['matchImages']);
  if (matchImages.length === 0)
    complain(`${path}matchImages: Required value: at least 1 item in matchImages is required`);
  const defaultCacheDurationMs = parseDurationMs(textOf(fields['defaultCacheDuration']));
  if (defaultCacheDurationMs === undefined || defaultCacheDurationMs < 0)
    complain(`${path}defaultCacheDuration: Required value: a duration that is not negative is required`);
  const apiVersion = textOf(fields['apiVersion']);
  if (!EXEC_VERSIONS.includes(apiVersion))
    complain(
      `${path}apiVersion: Unsupported value: ${JSON.stringify(apiVersion)}: supported values: ${EXEC_VERSIONS.join(', ')}`,
    );
  const env = Array.isArray(fields['env']) ? fields['env'].map(fieldsOf) : [];
  const token = fields['tokenAttributes'];
  return {
    name,
    matchImages,
    defaultCacheDurationMs: defaultCacheDurationMs ?? 0,
    apiVersion,
    args: textsOf(fields['args']),
    env: Object.fromEntries(env.map((each) => [textOf(each['name']), textOf(each['value'])])),
    tokenAttributes:
      token === undefined || token === null
        ? undefined
        : tokenAttributesOf(fieldsOf(token), { path: `${path}tokenAttributes.`, complain }),
  };
}

function tokenAttributesOf(fields: ConfigFields, { path, complain }: Complaints): ProviderTokenAttributes {
  unknownFields(fields, TOKEN_FIELDS, { path, complain });
  const audience = textOf(fields['serviceAccountTokenAudience']);
  if (audience === '') complain(`${path}serviceAccountTokenAudience: Required value`);
  const cacheType = textOf(fields['cacheType']);
  if (cacheType !== 'Token' && cacheType !== 'ServiceAccount')
    complain(
      `${path}cacheType: Unsupported value: ${JSON.stringify(cacheType)}: supported values: "ServiceAccount", "Token"`,
    );
  if (typeof fields['requireServiceAccount'] !== 'boolean') complain(`${path}requireServiceAccount: Required value`);
  const required = textsOf(fields['requiredServiceAccountAnnotationKeys']);
  const optional = textsOf(fields['optionalServiceAccountAnnotationKeys']);
  if (required.length > 0 && fields['requireServiceAccount'] === false)
    complain(`${path}requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false`);
  const twice = required.filter((key) => optional.includes(key));
  if (twice.length > 0) complain(`${path}: annotation keys cannot be both required and optional: ${twice.join(', ')}`);
  return {
    serviceAccountTokenAudience: audience,
    cacheType: cacheType === 'Token' ? 'Token' : 'ServiceAccount',
    requireServiceAccount: fields['requireServiceAccount'] === true,
    requiredServiceAccountAnnotationKeys: required,
    optionalServiceAccountAnnotationKeys: optional,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(textOf) : [];
}
