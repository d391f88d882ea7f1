/**
 * The credentials to try for an image: those of the pod's pull secrets, then the node's own. Upstream:
 * pkg/credentialprovider.
 */
import { isObject } from '../../api/codec/own-property.ts';
import { trimEndOf } from '../../base/trim-end.ts';
import type { Secret } from '../../api/gen/core-v1.ts';
import type { ObjectMeta } from '../../api/gen/meta-v1.ts';
import type { ImageReference } from '../../api/image-reference.ts';

/** User name and password, or tokens, for one registry. */
export interface PullCredential {
  readonly username: string;
  readonly password: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

interface AuthEntry {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly identitytoken?: string;
  readonly registrytoken?: string;
}

/** Credentials by registry, as in docker's configuration files. */
export type DockerConfig = Readonly<Record<string, AuthEntry>>;

/** Identifies one object, but not a later one of the same name. */
export interface ObjectIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The source of a credential that not every pod of the node may use. */
export type PullSource = { readonly secret: ObjectIdentity } | { readonly serviceAccount: ObjectIdentity };

/** A docker configuration; without a source it is the node's own. */
export interface SourcedConfig {
  readonly config: DockerConfig;
  readonly source?: PullSource;
}

/** A credential; without a source it is the node's own. */
export interface SourcedCredential {
  readonly credential: PullCredential;
  readonly source?: PullSource;
}

export function identityOf({ namespace = '', name = '', uid = '' }: ObjectMeta): ObjectIdentity {
  return { namespace, name, uid };
}

/** The registries of a `.dockerconfigjson` (with `auths`) or a `.dockercfg` text. Throws on text that is neither. */
export function parseDockerConfig(text: string): DockerConfig {
  const parsed: unknown = JSON.parse(text);
  if (!isObject(parsed)) throw new Error('docker configuration is not an object');
  return (isObject(parsed['auths']) ? parsed['auths'] : parsed) as DockerConfig;
}

function credentialOf(entry: AuthEntry): PullCredential | undefined {
  let { username = '', password = '' } = entry;
  if (typeof entry.auth === 'string' && entry.auth !== '') {
    const decoded = trimEndOf(Buffer.from(entry.auth, 'base64').toString('utf8'), '\0');
    const colon = decoded.indexOf(':');
    if (colon < 0) return undefined;
    username = decoded.slice(0, colon);
    password = decoded.slice(colon + 1);
  }
  const { identitytoken, registrytoken } = entry;
  return {
    username,
    password,
    ...(identitytoken ? { identityToken: identitytoken } : {}),
    ...(registrytoken ? { registryToken: registrytoken } : {}),
  };
}

interface Location {
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

function splitLocation(text: string): Location {
  const bare = text
    .replace(/^https?:\/\//, '')
    .replace(/\/v[12]\/?$/, '')
    .replace(/\/$/, '');
  const slash = bare.indexOf('/');
  const authority = slash < 0 ? bare : bare.slice(0, slash);
  const colon = authority.lastIndexOf(':');
  const port = colon > authority.lastIndexOf(']') ? authority.slice(colon + 1) : '';
  const host = port === '' ? authority : authority.slice(0, colon);
  const docker = host === 'index.docker.io' || host === 'registry-1.docker.io';
  return { host: docker ? 'docker.io' : host, port, path: slash < 0 ? '' : bare.slice(slash) };
}

/** One label of a host name against a glob of `*` and `?`. */
function labelMatches(glob: string, label: string): boolean {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^.]*')
    .replaceAll('?', '[^.]');
  return new RegExp(`^${source}$`).test(label);
}

/** Whether the credentials stored for `key` apply to an image: host labels by glob, equal ports, path by prefix. */
export function keyMatches(key: string, image: ImageReference): boolean {
  const wanted = splitLocation(key);
  const actual = splitLocation(`${image.registry}/${image.path}`);
  const globs = wanted.host.split('.');
  const labels = actual.host.split('.');
  if (globs.length !== labels.length || wanted.port !== actual.port) return false;
  return globs.every((glob, index) => labelMatches(glob, labels[index]!)) && actual.path.startsWith(wanted.path);
}

/**
 * The docker configurations of the pod's secrets. Secrets of other types and damaged ones are skipped, as upstream;
 * `onError` is called for the latter.
 */
export function configsOfSecrets(
  secrets: readonly Secret[],
  onError: (secret: Secret, error: unknown) => void,
): readonly SourcedConfig[] {
  return secrets.flatMap((secret) => {
    const key =
      secret.type === 'kubernetes.io/dockerconfigjson'
        ? '.dockerconfigjson'
        : secret.type === 'kubernetes.io/dockercfg'
          ? '.dockercfg'
          : undefined;
    const data = key === undefined ? undefined : secret.data?.[key];
    if (data === undefined) return [];
    try {
      const config = parseDockerConfig(Buffer.from(data, 'base64').toString('utf8'));
      return [{ config, source: { secret: identityOf(secret.metadata) } }];
    } catch (error) {
      onError(secret, error);
      return [];
    }
  });
}

/** Credentials to try in order: the most specific key first within each configuration. Empty: pull without. */
export function credentialsFor(image: ImageReference, configs: readonly SourcedConfig[]): readonly SourcedCredential[] {
  const sourcedCredentials = configs.flatMap(({ config, source }) =>
    Object.entries(config)
      .filter(([key]) => keyMatches(key, image))
      .sort(([a], [b]) => (a < b ? 1 : -1))
      .map(([, entry]) => (isObject(entry) ? credentialOf(entry) : undefined))
      .filter((credential) => credential !== undefined)
      .map((credential): SourcedCredential => ({ credential, ...(source && { source }) })),
  );
  const seen = new Set<string>();
  return sourcedCredentials.filter(({ credential }) => {
    const key = JSON.stringify(credential);
    return seen.has(key) ? false : (seen.add(key), true);
  });
}
