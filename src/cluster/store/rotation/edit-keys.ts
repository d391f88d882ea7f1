/** Puts a key into the text of an EncryptionConfiguration, and takes the others out; comments and order stay. Pure. */
import { isMap, isSeq, parseDocument, type Document, type YAMLMap, type YAMLSeq } from 'yaml';

const CIPHERS = ['aescbc', 'aesgcm', 'secretbox'] as const;

/** The text with the key as the first of each rule, which so writes with it. Throws where a rule does not encrypt. */
export function withFirstKey(text: string, key: { readonly name: string; readonly secret: string }): string {
  const document = parseDocument(text);
  for (const { providers, at } of rulesOf(document)) {
    const keys = keysOf(providers.items[0]);
    if (keys === undefined)
      throw new Error(`${at}: its first provider is none of ${CIPHERS.join(', ')}: there is no key to rotate`);
    if (nameOf(keys.items[0]) !== key.name) {
      const others = keys.items.filter((each) => nameOf(each) !== key.name);
      keys.items = [document.createNode({ ...key }), ...others];
    }
  }
  return String(document);
}

/**
 * The text in which this key is the only one. Providers without keys of their own, such as identity, stay. Throws where a rule
 * writes with another key, which its values then need.
 */
export function withOnlyKey(text: string, name: string): string {
  const document = parseDocument(text);
  for (const { providers, at } of rulesOf(document)) {
    if (nameOf(keysOf(providers.items[0])?.items[0]) !== name)
      throw new Error(
        `${at}: ${name} is not its first key any more; nothing was dropped. Put ${name} first in every rule`,
      );
    for (const provider of providers.items) {
      const keys = keysOf(provider);
      if (keys !== undefined) keys.items = keys.items.filter((each) => nameOf(each) === name);
    }
    providers.items = providers.items.filter((each) => keysOf(each)?.items.length !== 0);
  }
  return String(document);
}

/** Names of all keys, each once. */
export function keyNames(text: string): readonly string[] {
  const names = rulesOf(parseDocument(text)).flatMap(({ providers }) =>
    providers.items.flatMap((provider) => (keysOf(provider)?.items ?? []).map(nameOf)),
  );
  return [...new Set(names.filter((name) => name !== undefined))];
}

function rulesOf(document: Document): { readonly providers: YAMLSeq; readonly at: string }[] {
  const resources = document.get('resources');
  if (!isSeq(resources)) return [];
  return resources.items.flatMap((rule, index) => {
    const providers = isMap(rule) ? rule.get('providers') : undefined;
    return isSeq(providers) ? [{ providers, at: `resources[${index}]` }] : [];
  });
}

function keysOf(provider: unknown): YAMLSeq | undefined {
  if (!isMap(provider)) return undefined;
  const cipher = CIPHERS.map((name) => (provider as YAMLMap).get(name)).find(isMap);
  const keys = cipher?.get('keys');
  return isSeq(keys) ? keys : undefined;
}

function nameOf(key: unknown): string | undefined {
  const name = isMap(key) ? key.get('name') : undefined;
  return typeof name === 'string' ? name : undefined;
}
