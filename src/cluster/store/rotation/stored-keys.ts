/** With which keys the values of a store are encrypted, by what is on disk. Pure. */
import { groupResourceOf } from '../../../storage/encryption/encrypted-store.ts';
import type { EncryptionConfig } from '../../../storage/encryption/encryption-config.ts';
import { startsWith, type Transformer } from '../../../storage/encryption/transformers.ts';
import type { StoredEntry } from '../../../storage/store.ts';
import { errorMessage } from '../../../base/errors.ts';
import { PreflightError } from '../../preflight-error.ts';

export interface StoredKeys {
  /** How many values there are by `k8s:enc:aescbc:v1:key1:`, of resources that are encrypted; '' is not encrypted. */
  readonly counts: ReadonlyMap<string, number>;
  /** The keys whose values are not as writes make them now, with the values decrypted. */
  readonly stale: readonly { readonly key: string; readonly value: Uint8Array }[];
  /** How many are as writes make them now. */
  readonly fresh: number;
}

/** Throws `PreflightError` where a value cannot be read by the configuration. */
export function storedKeys(entries: readonly StoredEntry[], config: EncryptionConfig): StoredKeys {
  const counts = new Map<string, number>();
  const stale: { key: string; value: Uint8Array }[] = [];
  let fresh = 0;
  for (const { key, value } of entries) {
    const providers = config.providersOf(groupResourceOf(key));
    const writer = providers?.[0];
    if (providers === undefined || writer === undefined) continue;
    const reader = providers.find(({ prefix }) => prefix !== '' && startsWith(value, prefix));
    const prefix = reader?.prefix ?? '';
    if (reader === undefined && startsWith(value, 'k8s:enc:'))
      throw new PreflightError(`no key of the file reads ${key}`);
    counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
    const plain = reader === undefined ? value : decrypted(reader, { key, value });
    if (prefix === writer.prefix) fresh++;
    else stale.push({ key, value: plain });
  }
  return { counts, stale, fresh };
}

function decrypted(reader: Transformer, { key, value }: Pick<StoredEntry, 'key' | 'value'>): Uint8Array {
  try {
    return reader.decrypt(value.subarray(reader.prefix.length), Buffer.from(key));
  } catch (error) {
    throw new PreflightError(`a key of the file does not read ${key}: ${errorMessage(error)}`);
  }
}
