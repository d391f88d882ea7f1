/**
 * Translates between the store's and etcd's keys, entries and events. Keys below `/registry` are stored below the
 * configured prefix (`--etcd-prefix`); others keep their name.
 */
import type { StoredEntry, StoreEvent } from '../store.ts';
import type { EtcdEvent, KeyValue } from './etcd-table.ts';

/** The prefix of the API server's own keys. */
const OWN_PREFIX = '/registry';

/** Marks keys of another cluster's registry. */
const FOREIGN = '\0';

/** Translates keys and entries for one etcd prefix. */
export interface EtcdCodec {
  /** The etcd key of a key or of either end of a range; the empty string is before all keys. */
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
    return isOwn(text) ? FOREIGN + text : text; // another cluster's
  };
  const entry = ({ key, value, modRevision, createRevision }: KeyValue): StoredEntry => ({
    key: nameOf(key),
    // A copy, so that an entry does not keep the whole message in memory.
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
