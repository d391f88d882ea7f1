/**
 * Between the store's terms and etcd's: keys as bytes, entries, events. Keys below `/registry` stand below the prefix the
 * user chose (`--etcd-prefix`); everything else keeps its name.
 */
import type { StoredEntry, StoreEvent } from '../store.ts';
import type { EtcdEvent, KeyValue } from './etcd-table.ts';

/** The prefix of the API server's own keys. */
const OWN_PREFIX = '/registry';

/** The prefix that marks keys of another cluster's registry. */
const FOREIGN = '\0';

/** Translates keys and entries for one etcd prefix. */
export interface EtcdCodec {
  /** The etcd key for a key or for either end of a range; the empty string is before all keys. */
  key(key: string): Uint8Array;
  entry(kv: KeyValue): StoredEntry;
  event(event: EtcdEvent): StoreEvent;
}

/** `prefix` is the value of `--etcd-prefix`, without a slash at its end. */
export function createEtcdCodec(prefix: string = OWN_PREFIX): EtcdCodec {
  const moved = prefix !== OWN_PREFIX;
  const nameOf = (key: Uint8Array): string => {
    const text = Buffer.from(key.buffer, key.byteOffset, key.length).toString('utf8');
    if (!moved) return text;
    if (text.startsWith(`${prefix}/`)) return OWN_PREFIX + text.slice(prefix.length);
    return isOwn(text) ? FOREIGN + text : text; // Another cluster's.
  };
  const entry = ({ key, value, modRevision, createRevision }: KeyValue): StoredEntry => ({
    key: nameOf(key),
    // A copy: an entry must not keep the message it came in, with all its neighbours, in memory.
    value: value.slice(),
    modRevision,
    createRevision,
  });
  return {
    key(key) {
      if (key === '') return Uint8Array.of(0);
      return Buffer.from(moved && isOwn(key) ? prefix + key.slice(OWN_PREFIX.length) : key);
    },
    entry,
    event({ type, kv }) {
      if (type !== 'PUT') return { type: 'delete', key: nameOf(kv.key), revision: kv.modRevision };
      const { key, value, modRevision: revision, createRevision } = entry(kv);
      return { type: 'put', key, revision, value, createRevision };
    },
  };
}

/** The range of all keys below the prefix, `/registry0` being its end. */
function isOwn(key: string): boolean {
  return key.startsWith(`${OWN_PREFIX}/`) || key === `${OWN_PREFIX}0`;
}
