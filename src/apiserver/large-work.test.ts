/** Large lists and bodies of one client, hundreds at once: how many bytes of them are worked on at a time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiRequest, ApiResponse } from '../api/transport.ts';
import { StatusError } from '../api/status-error.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { Call } from './endpoints/endpoint.ts';
import { countedCells } from './endpoints/first-state.ts';
import { inBudget } from './endpoints/list.ts';
import { withLargeBodies } from './filters/large-bodies.ts';
import { BODY_LIMITS, ByteBudget, LIST_LIMITS } from './flowcontrol/byte-budget.ts';
import { selectAll, type Selection } from './generic-registry/selection.ts';
import type { RequestScope } from './request-scope.ts';
import type { RevisionCell } from './watch-cache/revision-cell.ts';

const MIB = 1024 * 1024;
const tenant = { name: 'system:serviceaccount:tenant:a', groups: [] };

/** Requests without a place in a queue just wait. */
const waitFor = <T>(waiting: Promise<T>): Promise<T> => waiting;

/** Work that ends a few turns later; counts what runs at a time. */
function createWork(bytes: number) {
  let [now, most, done] = [0, 0, 0];
  return {
    async run(): Promise<ApiResponse> {
      most = Math.max(most, (now += bytes));
      for (let turn = 0; turn < 50; turn++) await undefined;
      now -= bytes;
      done++;
      return { kind: 'bytes', status: 200, headers: {}, chunks: [] };
    },
    most: () => most,
    done: () => done,
  };
}

const refusals = (results: readonly PromiseSettledResult<unknown>[]): number =>
  results.filter(
    (result) =>
      result.status === 'rejected' && result.reason instanceof StatusError && result.reason.status.code === 429,
  ).length;

describe('hundreds of large pieces of work of one client', () => {
  test('240 lists of 26 MiB: two run at a time, some wait, the rest gets 429', async () => {
    const lists = new ByteBudget(new VirtualClock(), LIST_LIMITS);
    const call = { store: { services: { lists } }, scope: { user: tenant, request: {}, waitFor } } as unknown as Call;
    const cells = Array.from({ length: 26 }, () => ({ byteLength: MIB })) as unknown as RevisionCell[];
    const work = createWork(26 * MIB);
    const results = await Promise.allSettled(
      Array.from({ length: 240 }, () => inBudget(call, cells, () => work.run())),
    );
    assert.equal(work.most(), 2 * 26 * MIB);
    assert.equal(work.done(), 2 + LIST_LIMITS.maxWaiting);
    assert.equal(refusals(results), 240 - work.done());
    assert.equal(lists.bytes, 0);
  });

  test('a list that fails releases its place; small ones and those of components are not counted', async () => {
    const lists = new ByteBudget(new VirtualClock(), LIST_LIMITS);
    const callOf = (name: string): Call =>
      ({
        store: { services: { lists } },
        scope: { user: { name, groups: [] }, request: {}, waitFor },
      }) as unknown as Call;
    const cells = [{ byteLength: 60 * MIB }] as unknown as RevisionCell[];
    await assert.rejects(
      inBudget(callOf('jane'), cells, () => Promise.reject(new Error('broken'))),
      /broken/,
    );
    assert.equal(lists.bytes, 0);
    const held = await lists.enter({ name: 'jane', groups: [] }, 60 * MIB);
    const small = [{ byteLength: 1000 }] as unknown as RevisionCell[];
    assert.equal(await inBudget(callOf('jane'), small, () => Promise.resolve('made')), 'made');
    assert.equal(await inBudget(callOf('system:node:a'), cells, () => Promise.resolve('made')), 'made');
    held.end();
  });

  test("a node's agent pays for the pods of its node alone, and callers inside the process for nothing", async () => {
    const cells = ['n1', 'n2', 'n1', 'n3'].map((node) => ({ byteLength: MIB, key: node })) as unknown as RevisionCell[];
    const store = {
      services: { clock: new VirtualClock() },
      fields: ({ key }: RevisionCell) => ({ 'spec.nodeName': key }),
    };
    const callOf = (request: object): Call => ({ store, scope: { user: tenant, request } }) as unknown as Call;
    const ofNode: Selection = {
      ...selectAll,
      fields: [{ field: 'spec.nodeName', operator: '=', value: 'n1' }],
      isEverything: false,
    };
    assert.deepEqual(await countedCells(callOf({}), ofNode, cells), [cells[0], cells[2]]);
    assert.equal(await countedCells(callOf({}), selectAll, cells), cells);
    assert.deepEqual(await countedCells(callOf({ wantsObjects: true }), selectAll, cells), []);
  });

  const scopeOf = (request: Partial<ApiRequest>): RequestScope =>
    ({
      user: tenant,
      waitFor,
      info: { verb: 'create', isResourceRequest: true, subresource: '' },
      params: new URLSearchParams(),
      request: { method: 'POST', body: { kind: 'bytes' }, ...request },
    }) as unknown as RequestScope;

  test('240 bodies of 2.9 MB: eleven are read and decoded at a time', async () => {
    const bodies = new ByteBudget(new VirtualClock(), BODY_LIMITS);
    const size = 2.9 * 1e6;
    const work = createWork(size);
    const handler = withLargeBodies({ bodies })(() => work.run());
    const headers = { 'content-length': String(size) };
    const results = await Promise.allSettled(Array.from({ length: 240 }, async () => handler(scopeOf({ headers }))));
    assert.ok(work.most() <= BODY_LIMITS.ownBytes, `${work.most()}`);
    assert.equal(refusals(results), 240 - work.done());
    assert.equal(bodies.bytes, 0);
  });

  describe('bodies without a length', () => {
    /** Sends them all at once; the handler reads so much of each as the client sends. */
    const sendChunked = async (sizes: readonly number[], method = 'POST') => {
      const bodies = new ByteBudget(new VirtualClock(), BODY_LIMITS);
      let most = 0;
      const handler = withLargeBodies({ bodies })(async ({ request, bodyGate }) => {
        const { bytes } = request.body as unknown as { readonly bytes: number };
        if (bytes > bodyGate!.freeBytes) await bodyGate!.pass();
        most = Math.max(most, bodies.bytes);
        for (let turn = 0; turn < 50; turn++) await undefined;
        return { kind: 'bytes', status: 200, headers: {}, chunks: [] };
      });
      const results = await Promise.allSettled(
        sizes.map(async (bytes) =>
          handler(scopeOf({ method, headers: {}, body: { kind: 'bytes', bytes } as unknown as ApiRequest['body'] })),
        ),
      );
      assert.equal(bodies.bytes, 0);
      return { refused: refusals(results), most };
    };

    for (const method of ['POST', 'DELETE'])
      test(`240 small ones of ${method} are not counted, and large ones count as the largest permitted body`, async () => {
        assert.deepEqual(await sendChunked(Array<number>(240).fill(2000), method), { refused: 0, most: 0 });
        const { refused, most } = await sendChunked(Array<number>(240).fill(100_000), method);
        assert.equal(most, 10 * 3 * MIB);
        assert.equal(refused, 240 - 10 - BODY_LIMITS.maxWaiting);
      });

    test('one that is let in after its request has ended keeps no place', async () => {
      const bodies = new ByteBudget(new VirtualClock(), BODY_LIMITS);
      const held = await bodies.enter(tenant, 30 * MIB);
      let passing: Promise<void> | undefined;
      const handler = withLargeBodies({ bodies })(({ bodyGate }) => {
        passing = bodyGate!.pass();
        return Promise.reject(new Error('broken off'));
      });
      await assert.rejects(async () => handler(scopeOf({ headers: {} })), /broken off/);
      held.end();
      await passing;
      assert.equal(bodies.bytes, 0);
    });
  });
});
