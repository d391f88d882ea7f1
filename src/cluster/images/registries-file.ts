/**
 * Parses `registries.yaml` in k3s's form: mirrors, rewrites, TLS and credentials. Pure. What neither containerd nor the
 * proxy for rewrites can do is refused.
 */
import { parseDocument } from 'yaml';
import { errorMessage } from '../../base/errors.ts';
import type { MirrorTls, RegistryAuth } from '../mirrors/mirror.ts';
import { compileRewrites, type RewriteName } from '../mirrors/rewrite-name.ts';
import { readAuth, readTls, RegistriesReader } from './registries-reader.ts';

export interface RegistryEndpoint {
  /** Without `/v2` unless `overridePath`. */
  readonly url: string;
  readonly overridePath: boolean;
  readonly tls?: MirrorTls | undefined;
  /** What containerd cannot do itself: rewrites other than a prefix. */
  readonly rewrite?: RewriteName | undefined;
}

/** One `hosts.toml`. */
export interface RegistryMirror {
  /** The registry itself, which is asked last; undefined for all registries without a file. */
  readonly server?: string;
  /** Settings of the registry itself. */
  readonly tls?: MirrorTls | undefined;
  readonly endpoints: readonly RegistryEndpoint[];
}

export interface RegistrySettings {
  /** By folder of the registries' directory. */
  readonly mirrors: Readonly<Record<string, RegistryMirror>>;
  /** By host. */
  readonly auth: Readonly<Record<string, RegistryAuth>>;
}

/** Parses the configuration. Throws `PreflightError` with file and key. */
export function parseRegistries(text: string, path: string): RegistrySettings {
  const reader = new RegistriesReader(path);
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem !== undefined) reader.fail(problem.message.split('\n')[0] ?? 'it is no YAML');
  const root = reader.map('', document.toJS(), ['mirrors', 'configs']);
  const { tls, auth } = readConfigs(reader, root['configs']);
  const tlsOf: TlsOf = (host) => (tls.has(host) ? tls.get(host) : tls.get(ALL));
  const mirrors: Record<string, RegistryMirror> = {};
  for (const [registry, value] of Object.entries(reader.map('mirrors', root['mirrors']))) {
    const where = `mirrors.${registry}`;
    const mirror = reader.map(where, value, ['endpoint', 'rewrite']);
    const rewrites = readRewrites(reader, `${where}.rewrite`, mirror['rewrite']);
    const texts = reader.texts(`${where}.endpoint`, mirror['endpoint'] ?? []);
    if (texts.length === 0 && mirror['rewrite'] !== undefined)
      reader.fail(`${where}.rewrite needs an endpoint: the registry itself is asked for names as they are`);
    const endpoints = texts.map((endpoint) => readEndpoint(reader, `${where}.endpoint`, { endpoint, rewrites, tlsOf }));
    mirrors[folderOf(registry)] = { ...serverOf(registry, tlsOf), endpoints };
  }
  for (const [host, own] of tls)
    if (own !== undefined)
      mirrors[folderOf(host)] ??=
        host === ALL
          ? { tls: own, endpoints: [] }
          : { ...serverOf(host), endpoints: [{ url: `https://${host}`, overridePath: false, tls: own }] };
  return { mirrors, auth };
}

/** The entry for all registries without their own. */
const ALL = '*';

type TlsOf = (host: string) => MirrorTls | undefined;

function readConfigs(reader: RegistriesReader, value: unknown) {
  const tls = new Map<string, MirrorTls | undefined>();
  const auth: Record<string, RegistryAuth> = {};
  for (const [host, each] of Object.entries(reader.map('configs', value))) {
    const where = `configs.${host}`;
    const config = reader.map(where, each, ['auth', 'tls']);
    if (config['auth'] !== undefined && host === ALL)
      reader.fail(`${where}.auth: containerd sends credentials to hosts by their names alone`);
    if (config['auth'] !== undefined) auth[host] = readAuth(reader, `${where}.auth`, config['auth']);
    tls.set(host, config['tls'] === undefined ? undefined : readTls(reader, `${where}.tls`, config['tls']));
  }
  return { tls, auth };
}

/** A path before all names is containerd's to put; other rewrites are the proxy's. */
interface Rewrites {
  readonly prefix: string;
  readonly rewrite?: RewriteName;
}

function readRewrites(reader: RegistriesReader, where: string, value: unknown): Rewrites {
  const rewrites = Object.entries(reader.map(where, value)).map(
    ([pattern, target]) => [pattern, reader.text(`${where}.${pattern}`, target)] as const,
  );
  const [[pattern, target] = ['', '']] = rewrites;
  const prefix = /^\/*((?:\w[\w.-]*\/)*)\$(?:1|\{1\})$/.exec(target)?.[1];
  if (rewrites.length === 0) return { prefix: '' };
  if (rewrites.length === 1 && /^\^?\(\.\*\)\$?$/.test(pattern) && prefix !== undefined)
    return { prefix: prefix.replace(/\/$/, '') };
  try {
    return { prefix: '', rewrite: compileRewrites(rewrites) };
  } catch (error) {
    return reader.fail(`${where}: ${errorMessage(error)}`);
  }
}

interface Endpoint {
  readonly endpoint: string;
  readonly rewrites: Rewrites;
  readonly tlsOf: TlsOf;
}

/** As in k3s, a host without a scheme uses https, and a path is kept. */
function readEndpoint(
  reader: RegistriesReader,
  where: string,
  { endpoint, rewrites: { prefix, rewrite }, tlsOf }: Endpoint,
): RegistryEndpoint {
  const text = endpoint.includes('://') ? endpoint : `https://${endpoint}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return reader.fail(`${where}: ${endpoint} is no URL of http or https`);
  const path = url.pathname.replace(/\/+$/, '');
  const whole = [path === '' ? '/v2' : path, ...(prefix === '' ? [] : [prefix])].join('/');
  const overridePath = whole !== '/v2';
  return {
    url: `${url.protocol}//${url.host}${overridePath ? whole : ''}`,
    overridePath,
    tls: tlsOf(url.host),
    ...(rewrite === undefined ? {} : { rewrite }),
  };
}

/** containerd's folder for all registries without their own. */
function folderOf(registry: string): string {
  return registry === ALL ? '_default' : registry;
}

/** The registry itself. `tlsOf`: its settings stand with it. */
function serverOf(registry: string, tlsOf: TlsOf = () => undefined): Pick<RegistryMirror, 'server' | 'tls'> {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  return registry === ALL ? { tls: tlsOf(ALL) } : { server: `https://${host}`, tls: tlsOf(host) };
}
