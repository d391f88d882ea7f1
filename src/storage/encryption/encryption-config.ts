/**
 * An EncryptionConfiguration: which resources are encrypted, with which keys. The first provider of a resource writes, all
 * of them read. Upstream: apiserver/pkg/apis/apiserver, server/options/encryptionconfig. KMS providers are refused.
 */
import { parseYaml } from '../../api/codec/yaml.ts';
import { errorMessage } from '../../base/errors.ts';
import {
  identityTransformer,
  type CipherName,
  createTransformer,
  type Transformer,
  type TransformerDeps,
} from './transformers.ts';

/** The transformers of a resource's values; the first writes. */
export type Providers = readonly Transformer[];

export interface EncryptionConfig {
  /** The providers of `secrets` or `deployments.apps`; undefined: stored unencrypted. */
  providersOf(groupResource: string): Providers | undefined;
}

/** The file is invalid; the message has place and reason. */
export class EncryptionConfigError extends Error {
  override readonly name = 'EncryptionConfigError';
}

const CIPHERS: readonly CipherName[] = ['aescbc', 'aesgcm', 'secretbox'];
const AES_SIZES = [16, 24, 32];

type UntypedObject = Readonly<Record<string, unknown>>;

/** Parses and validates a file's text. Throws `EncryptionConfigError`. */
export function parseEncryptionConfig(text: string, deps: TransformerDeps): EncryptionConfig {
  const root = objectAt(parse(text), '');
  if (
    root['kind'] !== 'EncryptionConfiguration' ||
    !/^apiserver\.config\.k8s\.io\/v1(beta1)?$/.test(String(root['apiVersion']))
  )
    throw new EncryptionConfigError('it is no EncryptionConfiguration of apiserver.config.k8s.io/v1');
  const seen = new Set<string>();
  const rules = listAt(root['resources'], 'resources').map((value, index) => {
    const at = `resources[${index}]`;
    const rule = objectAt(value, at);
    const resources = listAt(rule['resources'], `${at}.resources`).map((name, nameIndex) =>
      resourceName(name, `${at}.resources[${nameIndex}]`, seen),
    );
    checkOverlaps(resources, `${at}.resources`);
    const providers = listAt(rule['providers'], `${at}.providers`).flatMap((provider, providerIndex) =>
      providerAt(objectAt(provider, `${at}.providers[${providerIndex}]`), `${at}.providers[${providerIndex}]`, deps),
    );
    return { resources, providers };
  });
  return {
    providersOf: (groupResource) =>
      rules.find(({ resources }) => resources.some((one) => matches(one, groupResource)))?.providers,
  };
}

function parse(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch (error) {
    throw new EncryptionConfigError(errorMessage(error));
  }
}

/** `*.` is the core group, `*.apps` a group, `*.*` everything. */
function matches(pattern: string, groupResource: string): boolean {
  if (pattern === '*.*') return true;
  if (!pattern.startsWith('*.')) return pattern === groupResource;
  const dot = groupResource.indexOf('.');
  return pattern.slice(2) === (dot < 0 ? '' : groupResource.slice(dot + 1));
}

function resourceName(value: unknown, at: string, seen: Set<string>): string {
  if (typeof value !== 'string' || value === '' || value !== value.toLowerCase())
    throw problem(at, 'resource name must be a lower-case text');
  if (value === '*') throw problem(at, 'use *.* for all resources, *. for those of the core group');
  if (seen.has(value)) throw problem(at, `${JSON.stringify(value)} was named before`);
  seen.add(value);
  return value;
}

function checkOverlaps(resources: readonly string[], at: string): void {
  for (const pattern of resources)
    for (const other of resources)
      if (
        pattern !== other &&
        pattern.startsWith('*.') &&
        matches(pattern, other.replace(/^\*\./, 'x.').replace(/\.$/, ''))
      )
        throw problem(
          at,
          `using overlapping resources such as ${JSON.stringify(other)} and ${JSON.stringify(pattern)} in the same resource list is not allowed as they will be masked`,
        );
}

function providerAt(provider: UntypedObject, at: string, deps: TransformerDeps): Transformer[] {
  const [kind, ...others] = Object.keys(provider);
  if (kind === undefined)
    throw problem(
      at,
      'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
    );
  if (others.length > 0)
    throw problem(
      at,
      'more than one provider specified in a single element, should split into different list elements',
    );
  if (kind === 'identity') return [identityTransformer];
  if (kind === 'kms') throw problem(at, 'kms providers are not supported; use aescbc, aesgcm, secretbox or identity');
  const cipher = CIPHERS.find((name) => name === kind);
  if (cipher === undefined) throw problem(at, `unknown provider ${JSON.stringify(kind)}`);
  const keys = listAt(objectAt(provider[kind], `${at}.${kind}`)['keys'], `${at}.${kind}.keys`);
  const names = new Set<string>();
  return keys.map((value, index) => {
    const keyAt = `${at}.${kind}.keys[${index}]`;
    const { name, secret } = objectAt(value, keyAt);
    if (typeof name !== 'string' || name === '') throw problem(`${keyAt}.name`, 'key must contain a name');
    if (name.includes(':')) throw problem(`${keyAt}.name`, 'a name must not contain a colon');
    if (names.has(name)) throw problem(`${keyAt}.name`, `duplicate name ${JSON.stringify(name)}`);
    names.add(name);
    return createTransformer(deps, { cipher, name, key: secretAt(secret, `${keyAt}.secret`, cipher) });
  });
}

function secretAt(secret: unknown, at: string, cipher: CipherName): Uint8Array {
  if (typeof secret !== 'string' || !/^[A-Za-z0-9+/]+={0,2}$/.test(secret))
    throw problem(at, 'secret must be base64 encoded');
  const key = Buffer.from(secret, 'base64');
  const sizes = cipher === 'secretbox' ? [32] : AES_SIZES;
  if (!sizes.includes(key.length))
    throw problem(at, `secret is not of the expected length, got ${key.length}, expected one of [${sizes.join(' ')}]`);
  return key;
}

function objectAt(value: unknown, at: string): UntypedObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw problem(at, 'an object is wanted');
  return value as UntypedObject;
}

function listAt(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw problem(at, 'a list with at least one element is wanted');
  return value;
}

function problem(at: string, text: string): EncryptionConfigError {
  return new EncryptionConfigError(at === '' ? text : `${at}: ${text}`);
}
