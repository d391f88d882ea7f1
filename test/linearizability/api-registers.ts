/** ConfigMaps of an API server as registers, for the same check from a client's view. */
import { ConfigMaps } from '../../src/api/gen/resources.ts';
import type { ConfigMap } from '../../src/api/gen/core-v1.ts';
import { isReason, type StatusReason } from '../../src/api/status-error.ts';
import type { Client } from '../../src/client/client.ts';
import type { Change, Seen } from './history.ts';
import type { Registers } from './workload.ts';

const NAMESPACE = 'default';
const labels = { register: 'yes' };

const seen = ({ metadata, data }: ConfigMap): Seen => ({
  revision: Number(metadata.resourceVersion),
  value: data?.['value'] ?? '',
});

/** Registers of one server. A deletion returns no revision; a watch reports it. */
export function registersOfApi(client: Client): Registers {
  const maps = client.resource(ConfigMaps);
  const unless = async <T>(reason: StatusReason, work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      if (isReason(error, reason)) return undefined;
      throw error;
    }
  };
  return {
    async get(key) {
      const found = await unless('NotFound', maps.get({ namespace: NAMESPACE, name: key }));
      return found && seen(found);
    },
    async list() {
      const { items, metadata } = await maps.list({ namespace: NAMESPACE, labelSelector: 'register=yes' });
      const found = new Map(items.map((item) => [item.metadata.name ?? '', seen(item)]));
      return { found, revision: Number(metadata.resourceVersion) };
    },
    async write(key, value, expect) {
      const metadata = { name: key, namespace: NAMESPACE, labels };
      const resourceVersion = String(expect);
      if (value === undefined) {
        const options = { preconditions: { resourceVersion } };
        const gone = await unless(
          'NotFound',
          unless('Conflict', maps.delete({ namespace: NAMESPACE, name: key }, options)),
        );
        return gone === undefined ? 'refused' : 'deleted';
      }
      const data = { value };
      const written =
        expect === 0
          ? await unless('AlreadyExists', maps.create({ metadata, data }))
          : await unless(
              'NotFound',
              unless('Conflict', maps.update({ metadata: { ...metadata, resourceVersion }, data })),
            );
      return written === undefined ? 'refused' : { revision: Number(written.metadata.resourceVersion) };
    },
    watch(after, onChanges) {
      const stop = new AbortController();
      void follow();
      async function follow(): Promise<void> {
        const options = {
          namespace: NAMESPACE,
          labelSelector: 'register=yes',
          resourceVersion: String(after),
          signal: stop.signal,
        };
        for await (const batch of maps.watch(options)) {
          const changes = batch.flatMap(({ type, object }): Change[] => {
            if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return [];
            const { revision, value } = seen(object as ConfigMap);
            return [{ revision, key: object.metadata.name ?? '', value: type === 'DELETED' ? undefined : value }];
          });
          onChanges(changes);
        }
      }
      return () => stop.abort(new Error('enough'));
    },
  };
}
