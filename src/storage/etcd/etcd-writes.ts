/** Writes of the etcd store: transactions that compare the key's revision. */
import type { DeleteRequest, PutRequest, WriteResult } from '../store.ts';
import type { EtcdCodec } from './codec.ts';
import type { EtcdClient } from './etcd-client.ts';
import type { TxnResponse } from './etcd-table.ts';
import type { LeasePool } from './lease-pool.ts';

interface EtcdWritesDeps {
  readonly client: EtcdClient;
  readonly codec: EtcdCodec;
  readonly leases: LeasePool;
}

export class EtcdWrites {
  readonly #deps: EtcdWritesDeps;

  constructor(deps: EtcdWritesDeps) {
    this.#deps = deps;
  }

  delete(request: DeleteRequest): Promise<WriteResult> {
    const key = this.#deps.codec.key(request.key);
    return this.#transact(request, { requestDeleteRange: { key } }, `deleting ${request.key}`);
  }

  /** If the lease has expired meanwhile, it is replaced once. */
  async put(request: PutRequest, mayRenew = true): Promise<WriteResult> {
    const { key, value, ttlSeconds } = request;
    const lease = ttlSeconds === undefined ? 0 : await this.#deps.leases.leaseFor(ttlSeconds);
    const put = { requestPut: { key: this.#deps.codec.key(key), value, lease } };
    try {
      return await this.#transact(request, put, `writing ${key}`);
    } catch (error) {
      if (ttlSeconds === undefined || !mayRenew || !/requested lease not found/.test(String(error))) throw error;
      this.#deps.leases.forget(ttlSeconds);
      return this.put(request, false);
    }
  }

  async #transact({ key, expectRevision }: DeleteRequest, operation: object, doing: string): Promise<WriteResult> {
    const bytes = this.#deps.codec.key(key);
    const compare =
      expectRevision === undefined ? [] : [{ result: 'EQUAL', target: 'MOD', key: bytes, modRevision: expectRevision }];
    const answer = await this.#deps.client.call(
      'KV/Txn',
      { compare, success: [operation], failure: [{ requestRange: { key: bytes } }] },
      { doing, writes: true },
    );
    return this.#writeResult(answer);
  }

  #writeResult({ succeeded, responses, header }: TxnResponse): WriteResult {
    const [response] = responses;
    if (!succeeded) {
      const kv = response?.responseRange?.kvs[0];
      return kv === undefined ? { ok: false } : { ok: false, current: this.#deps.codec.entry(kv) };
    }
    if (response?.responseDeleteRange?.deleted === 0) return { ok: false };
    return { ok: true, revision: header.revision };
  }
}
