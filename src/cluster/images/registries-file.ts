/**
 * Parses `registries.yaml` in k3s's form (mirrors, rewrites, TLS and credentials) into containerd's form: a
 * `hosts.toml` for each registry, and credentials by host. Pure. Settings without an equivalent in containerd are
 * refused.
 */
import { parseDocument } from 'yaml';
import { PreflightError } from '../preflight-error.ts';

/** Credentials of one host. */
export interface RegistryAuth {
  readonly username?: string;
  readonly password?: string;
  /** Base64 of `username:password`. */
  readonly auth?: string;
  readonly identityToken?: string;
}

export interface RegistrySettings {
  /** The text of `hosts.toml` by folder of the registries' directory. */
  readonly hosts: Readonly<Record<string, string>>;
  readonly auth: Readonly<Record<string, RegistryAuth>>;
}

/** First line of the written files: others belong to the user. */
export const WRITTEN_MARK = '# Written by Keelson from registries.yaml';

interface Tls {
  readonly ca_file?: string;
  readonly cert_file?: string;
  readonly key_file?: string;
  readonly insecure_skip_verify?: boolean;
}

interface Config {
  readonly tls?: Tls;
}

interface Host {
  readonly url: string;
  readonly overridePath: boolean;
  readonly tls: Tls | undefined;
}

/** Parses the configuration. Throws `PreflightError` with file and key. */
export function parseRegistries(text: string, path: string): RegistrySettings {
  const reader = new Reader(path);
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem !== undefined) reader.fail(problem.message.split('\n')[0] ?? 'it is no YAML');
  const root = reader.map('', document.toJS(), ['mirrors', 'configs']);
  const configs = reader.map('configs', root['configs']);
  const tls: Record<string, Config> = {};
  const auth: Record<string, RegistryAuth> = {};
  for (const [host, value] of Object.entries(configs)) {
    const where = `configs.${host}`;
    const config = reader.map(where, value, ['auth', 'tls']);
    if (config['auth'] !== undefined) auth[host] = readAuth(reader, `${where}.auth`, config['auth']);
    if (config['tls'] !== undefined) tls[host] = { tls: readTls(reader, `${where}.tls`, config['tls']) };
  }
  const hosts: Record<string, string> = {};
  for (const [registry, value] of Object.entries(reader.map('mirrors', root['mirrors']))) {
    const where = `mirrors.${registry}`;
    const mirror = reader.map(where, value, ['endpoint', 'rewrite']);
    const prefix = rewritePrefix(reader, `${where}.rewrite`, mirror['rewrite']);
    const endpoints = reader.texts(`${where}.endpoint`, mirror['endpoint'] ?? []);
    const list = endpoints.map((endpoint) => readEndpoint(reader, { where, endpoint, prefix, tls }));
    hosts[folderOf(registry)] = hostsToml(registry, list);
  }
  for (const [host, config] of Object.entries(tls))
    hosts[host] ??= hostsToml(host, [{ url: `https://${host}`, overridePath: false, tls: config.tls }]);
  return { hosts, auth };
}

class Reader {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  fail(what: string): never {
    throw new PreflightError(`${this.#path}: ${what}`);
  }

  map(where: string, value: unknown, keys?: readonly string[]): Record<string, unknown> {
    if (value === undefined || value === null) return {};
    if (typeof value !== 'object' || Array.isArray(value))
      return this.fail(`${where || 'the file'} must be keys with values`);
    const unknown = keys && Object.keys(value).find((key) => !keys.includes(key));
    if (unknown !== undefined)
      this.fail(`${where === '' ? '' : `${where}.`}${unknown}: unknown key; there are ${keys?.join(', ')}`);
    return value as Record<string, unknown>;
  }

  text(where: string, value: unknown): string {
    if (typeof value !== 'string' && typeof value !== 'number') return this.fail(`${where} must be a text`);
    return String(value);
  }

  texts(where: string, value: unknown): string[] {
    return (Array.isArray(value) ? (value as unknown[]) : [value]).map((each) => this.text(where, each));
  }
}

function readAuth(reader: Reader, where: string, value: unknown): RegistryAuth {
  const entry = reader.map(where, value, Object.keys(AUTH_KEYS));
  const entries = Object.entries(entry).map(([key, text]) => [AUTH_KEYS[key], reader.text(`${where}.${key}`, text)]);
  return Object.fromEntries(entries) as RegistryAuth;
}

/** By the file's key. */
const AUTH_KEYS: Readonly<Record<string, keyof RegistryAuth>> = {
  username: 'username',
  password: 'password',
  auth: 'auth',
  identity_token: 'identityToken',
};

function readTls(reader: Reader, where: string, value: unknown): Tls {
  const files = ['ca_file', 'cert_file', 'key_file'];
  const entry = reader.map(where, value, [...files, 'insecure_skip_verify']);
  for (const key of files) if (entry[key] !== undefined) reader.text(`${where}.${key}`, entry[key]);
  const skip = entry['insecure_skip_verify'];
  if (skip !== undefined && typeof skip !== 'boolean')
    reader.fail(`${where}.insecure_skip_verify must be true or false`);
  if ((entry['cert_file'] === undefined) !== (entry['key_file'] === undefined))
    reader.fail(`${where}: cert_file and key_file go together`);
  return entry as Tls;
}

/** The part before `$1` in a rewrite of whole names; containerd supports no other rewrites, unlike k3s's version. */
function rewritePrefix(reader: Reader, where: string, value: unknown): string {
  const rewrites = Object.entries(reader.map(where, value));
  if (rewrites.length === 0) return '';
  const [[pattern, target] = ['', '']] = rewrites;
  const prefix = /^([\w./-]*)\$\{?1\}?$/.exec(reader.text(where, target))?.[1];
  if (rewrites.length > 1 || !/^\^?\(\.\*\)\$?$/.test(pattern) || prefix === undefined)
    reader.fail(
      `${where}: containerd can put a prefix before all names ("^(.*)": "prefix/$1"), and rewrite them in no other way`,
    );
  return prefix.replaceAll(/^\/+|\/+$/g, '');
}

interface Endpoint {
  readonly where: string;
  readonly endpoint: string;
  readonly prefix: string;
  readonly tls: Readonly<Record<string, Config>>;
}

/** As in k3s, a host without a scheme uses https, and a path is kept. */
function readEndpoint(reader: Reader, { where, endpoint, prefix, tls }: Endpoint): Host {
  const text = endpoint.includes('://') ? endpoint : `https://${endpoint}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return reader.fail(`${where}.endpoint: ${endpoint} is no URL of http or https`);
  const path = url.pathname.replace(/\/+$/, '');
  const whole = [path === '' ? '/v2' : path, ...(prefix === '' ? [] : [prefix])].join('/');
  const overridePath = whole !== '/v2';
  return { url: `${url.protocol}//${url.host}${overridePath ? whole : ''}`, overridePath, tls: tls[url.host]?.tls };
}

/** containerd's folder for all registries without their own. */
function folderOf(registry: string): string {
  return registry === '*' ? '_default' : registry;
}

function hostsToml(registry: string, hosts: readonly Host[]): string {
  const server = registry === 'docker.io' ? 'https://registry-1.docker.io' : `https://${registry}`;
  const quoted = (value: unknown): string => JSON.stringify(value);
  const lines = hosts.flatMap(({ url, overridePath, tls = {} }) => [
    '',
    `[host.${quoted(url)}]`,
    '  capabilities = ["pull", "resolve"]',
    ...(overridePath ? ['  override_path = true'] : []),
    ...(tls.ca_file === undefined ? [] : [`  ca = ${quoted(tls.ca_file)}`]),
    ...(tls.cert_file === undefined ? [] : [`  client = [[${quoted(tls.cert_file)}, ${quoted(tls.key_file)}]]`]),
    ...(tls.insecure_skip_verify === true ? ['  skip_verify = true'] : []),
  ]);
  return `${[WRITTEN_MARK, ...(registry === '*' ? [] : [`server = ${quoted(server)}`]), ...lines].join('\n')}\n`;
}
