/** Reads values of `registries.yaml`. Failures name the file and the key. Pure. */
import type { MirrorTls, RegistryAuth } from '../mirrors/mirror.ts';
import { PreflightError } from '../preflight-error.ts';

export class RegistriesReader {
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

export function readAuth(reader: RegistriesReader, where: string, value: unknown): RegistryAuth {
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

export function readTls(reader: RegistriesReader, where: string, value: unknown): MirrorTls {
  const files = ['ca_file', 'cert_file', 'key_file'];
  const entry = reader.map(where, value, [...files, 'insecure_skip_verify']);
  for (const key of files) if (entry[key] !== undefined) reader.text(`${where}.${key}`, entry[key]);
  const skip = entry['insecure_skip_verify'];
  if (skip !== undefined && typeof skip !== 'boolean')
    reader.fail(`${where}.insecure_skip_verify must be true or false`);
  if ((entry['cert_file'] === undefined) !== (entry['key_file'] === undefined))
    reader.fail(`${where}: cert_file and key_file go together`);
  return entry as MirrorTls;
}
