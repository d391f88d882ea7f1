/**
 * Encrypts values in front of a store by an EncryptionConfiguration. Upstream: the value transformers of the etcd3
 * store.
 *
 * Invariants: values are written with the first provider of their resource and read with whichever provider has their
 * key. A value that no provider can read fails the read, and ends a watch; it is never left out.
 */
import { allResources } from '../../api/gen/resources.ts';
import { errorMessage } from '../../base/errors.ts';
import { scanStore } from '../scan-store.ts';
import {
  type Store,
  StoreError,
  type StoredEntry,
  type StoreEvent,
  type ValueCipher,
  type WriteResult,
} from '../store.ts';
import type { EncryptionConfig, Providers } from './encryption-config.ts';
import { startsWith } from './transformers.ts';

/** The store, and the replacement of its configuration. */
export interface EncryptedStore extends Store {
  isStale(key: string): boolean;
  readonly cipher: ValueCipher;
  /** Writes use this configuration from now on; reads use both, or it alone. */
  use(config: EncryptionConfig): void;
}

/** Encrypts in front of a store. */
export function createEncryptedStore(store: Store, initial: EncryptionConfig): EncryptedStore {
  let config = initial;
  /** The prefixes of keys in another form than writes use now, as last read. */
  const prefixes = new Map<string, string>();
  const { latestRevision, backup, changeLog } = store;

  const providersOf = (key: string): Providers | undefined => config.providersOf(groupResourceOf(key));
  const encrypt = (key: string, value: Uint8Array): Uint8Array => {
    const writer = providersOf(key)?.[0];
    if (writer === undefined) return value;
    const encrypted = writer.encrypt(value, Buffer.from(key));
    return writer.prefix === '' ? encrypted : Buffer.concat([Buffer.from(writer.prefix), encrypted]);
  };
  const decrypt = (key: string, value: Uint8Array): Uint8Array => {
    const providers = providersOf(key);
    if (providers === undefined && !startsWith(value, 'k8s:enc:')) return value;
    let failure = 'no provider of its resource has its key';
    for (const { prefix, decrypt: open } of providers ?? []) {
      if (!startsWith(value, prefix)) continue;
      try {
        return open(value.subarray(prefix.length), Buffer.from(key));
      } catch (error) {
        failure = errorMessage(error);
      }
    }
    throw new StoreError('corrupt', `cannot decrypt ${key}: ${failure}`);
  };
  const note = (key: string, value: Uint8Array | undefined): void => {
    if (value === undefined || providersOf(key) === undefined) prefixes.delete(key);
    else prefixes.set(key, prefixOf(value));
  };
  const entryOf = (entry: StoredEntry): StoredEntry => ({ ...entry, value: decrypt(entry.key, entry.value) });
  const noted = (entry: StoredEntry): StoredEntry => (note(entry.key, entry.value), entryOf(entry));
  const eventOf = (event: StoreEvent): StoreEvent => {
    note(event.key, event.value);
    return event.type === 'put' ? { ...event, value: decrypt(event.key, event.value) } : event;
  };
  const resultOf = (result: WriteResult): WriteResult =>
    !result.ok && result.current ? { ...result, current: entryOf(result.current) } : result;
  return {
    use(next) {
      config = next;
    },
    isStale(key) {
      const writer = providersOf(key)?.[0]?.prefix ?? '';
      return (prefixes.get(key) ?? writer) !== writer;
    },
    cipher: { seal: encrypt, unseal: decrypt },
    async get(key) {
      const entry = await store.get(key);
      return entry && entryOf(entry);
    },
    async range(request) {
      const result = await store.range(request);
      return { ...result, entries: result.entries.map(request.revision === undefined ? noted : entryOf) };
    },
    scan: (range, onPage) => scanStore(store, range, ({ entries }) => onPage({ entries: entries.map(noted) })),
    put: async (request) => resultOf(await store.put({ ...request, value: encrypt(request.key, request.value) })),
    delete: async (request) => resultOf(await store.delete(request)),
    watch(range, watcher) {
      const watch = store.watch(range, {
        ...(watcher.onProgress && { onProgress: (revision) => watcher.onProgress!(revision) }),
        onError: (error) => watcher.onError(error),
        onEvents(events, revision) {
          let readable: StoreEvent[];
          try {
            readable = events.map(eventOf);
          } catch (error) {
            watch.stop();
            watcher.onError(error as Error);
            return;
          }
          watcher.onEvents(readable, revision);
        },
      });
      return watch;
    },
    compact: (revision) => store.compact(revision),
    status: () => store.status(),
    ...(latestRevision && { latestRevision: () => latestRevision.call(store) }),
    ...(backup && { backup: (path) => backup.call(store, path) }),
    changeLog,
    close: () => store.close(),
  };
}

/** `k8s:enc:aescbc:v1:key1:`, or '' for a plain value. */
function prefixOf(value: Uint8Array): string {
  if (!startsWith(value, 'k8s:enc:')) return '';
  const head = Buffer.from(value.subarray(0, 300)).toString('latin1');
  return /^k8s:enc:[^:]*:[^:]*:[^:]*:/.exec(head)?.[0] ?? 'k8s:enc:';
}

/** Resources whose store keys begin with another name. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  minions: 'nodes',
  controllers: 'replicationcontrollers',
  ingress: 'ingresses.networking.k8s.io',
};
const groups = new Map(allResources.toReversed().map(({ group, resource }) => [resource, group]));

/** `secrets`, `deployments.apps`: the resource of a store key. */
export function groupResourceOf(key: string): string {
  const [, , first = '', second = ''] = key.split('/', 4);
  if (first === 'services') return second === 'endpoints' ? 'endpoints' : 'services';
  if (first.includes('.')) return `${second}.${first}`;
  const other = OTHER_NAMES[first];
  if (other !== undefined) return other;
  const group = groups.get(first) ?? '';
  return group === '' ? first : `${first}.${group}`;
}
