/**
 * Parses and checks names of a registry: repositories, tags, digests. Every text that becomes part of a path is
 * checked here: none escapes its folder or equals one of the folders that begin with an underscore. Pure.
 */
import { RegistryError } from './registry-error.ts';

/** `algorithm` and `hex` are safe as file names. */
export interface Digest {
  readonly text: string;
  readonly algorithm: 'sha256' | 'sha512';
  readonly hex: string;
}

const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const REPOSITORY = new RegExp(`^${COMPONENT}(?:/${COMPONENT})*$`);
/** Many clients allow 255 characters for host and name together. */
export const MAX_REPOSITORY_LENGTH = 239;
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
const DIGEST = /^(?:(sha256):([a-f0-9]{64})|(sha512):([a-f0-9]{128}))$/;

/** @throws RegistryError */
export function repositoryName(text: string): string {
  if (text.length > MAX_REPOSITORY_LENGTH || !REPOSITORY.test(text))
    throw new RegistryError(400, 'NAME_INVALID', 'the repository name is invalid');
  return text;
}

export function tryDigest(text: string): Digest | undefined {
  const match = DIGEST.exec(text);
  if (match === null) return undefined;
  const algorithm = match[1] === undefined ? 'sha512' : 'sha256';
  return { text, algorithm, hex: match[2] ?? match[4]! };
}

/** @throws RegistryError */
export function digestOf(text: string): Digest {
  const digest = tryDigest(text);
  if (digest === undefined)
    throw new RegistryError(400, 'DIGEST_INVALID', 'a digest is sha256 or sha512 with lowercase hexadecimal digits');
  return digest;
}

export function isTag(text: string): boolean {
  return TAG.test(text);
}

/** The endpoint and object of a request. */
export type Target =
  | { readonly kind: 'base' | 'catalog' }
  | { readonly kind: 'tags'; readonly name: string }
  | { readonly kind: 'uploads'; readonly name: string; readonly id: string }
  | { readonly kind: 'blob' | 'manifest' | 'referrers'; readonly name: string; readonly reference: string };

/** `path` is still percent-encoded: names need no escapes. @throws RegistryError */
export function parseTarget(path: string): Target {
  if (path === '/v2' || path === '/v2/') return { kind: 'base' };
  if (path === '/v2/_catalog') return { kind: 'catalog' };
  const match = /^\/v2\/(.+)\/(?:(tags)\/list|(blobs)\/uploads\/?([^/]*)|(blobs|manifests|referrers)\/([^/]+))$/.exec(
    path,
  );
  if (match === null) throw new RegistryError(404, 'UNSUPPORTED', 'the registry does not serve this path');
  const name = repositoryName(match[1]!);
  if (match[2] !== undefined) return { kind: 'tags', name };
  if (match[3] !== undefined) return { kind: 'uploads', name, id: match[4] ?? '' };
  const reference = unescaped(match[6]!);
  const kind = match[5] === 'blobs' ? 'blob' : match[5] === 'manifests' ? 'manifest' : 'referrers';
  return { kind, name, reference };
}

/** Clients may send the colon of a digest as %3A. */
function unescaped(text: string): string {
  return text.replace(/%3a/i, ':');
}
