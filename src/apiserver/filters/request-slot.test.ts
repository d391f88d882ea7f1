/** Requests that wait for room in a budget of bytes, and those that need their seats. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '../bootstrap/objects.ts';
import { BODY_LIMITS, ByteBudget } from '../flowcontrol/byte-budget.ts';
import { flowConfigurationOf } from '../flowcontrol/configuration.ts';
import { FlowController } from '../flowcontrol/flow-controller.ts';
import { parseRequestInfo } from '../request-info.ts';
import { RequestScope } from '../request-scope.ts';
import type { Handler } from './filter.ts';
import { withLargeBodies } from './large-bodies.ts';
import { MaxInFlight } from './max-in-flight.ts';
import { withPriorityAndFairness } from './priority-and-fairness.ts';
import { withTimeout } from './timeout.ts';

const MIB = 1024 * 1024;
const PATH = '/api/v1/namespaces/tenant/configmaps';
const ok: ApiResponse = { kind: 'bytes', status: 201, headers: {}, chunks: [] };

function postOf(name: string, bytes: number, timeoutMs: number): RequestScope {
  const request: ApiRequest = {
    method: 'POST',
    path: PATH,
    query: '',
    headers: { 'content-length': String(bytes) },
    remoteAddress: '',
    wantsObjects: false,
    wantsUpgrade: false,
    body: { kind: 'bytes', read: async () => new Uint8Array(), stream: async function* () {} },
    signal: new AbortController().signal,
  };
  const params = new URLSearchParams();
  const user = { name, groups: ['system:authenticated'] };
  const scope = new RequestScope({
    request,
    info: parseRequestInfo({ method: 'POST', path: PATH, params }),
    params,
    user,
  });
  scope.timeoutMs = timeoutMs;
  return scope;
}

/** The filters around a handler that ends when a test resolves it. */
function createServer(isFair: boolean) {
  const clock = new VirtualClock();
  const inFlight = new MaxInFlight({ readOnly: 4, mutating: 4 });
  const configuration = flowConfigurationOf(bootstrapFlowSchemas(), bootstrapPriorityLevels());
  const fairness = new FlowController({ clock, inFlight, measureStored: () => undefined }, 20, configuration);
  const bodies = new ByteBudget(clock, BODY_LIMITS);
  const deps = { clock, inFlight, requestTimeoutMs: 60_000, ...(isFair && { fairness }) };
  const running: (() => void)[] = [];
  const work: Handler = () => new Promise((resolve) => running.push(() => resolve(ok)));
  const filters = [withPriorityAndFairness(deps), withTimeout({ clock, inFlight }), withLargeBodies({ bodies })];
  const handler = filters.reduceRight((next, filter) => filter(next), work);
  const send = async (name: string, bytes: number, timeoutMs = 60_000): Promise<number> => {
    const answer = await handler(postOf(name, bytes, timeoutMs));
    return 'status' in answer ? answer.status : 0;
  };
  const taken = (): number => fairness.levels.reduce((sum, level) => sum + level.seatsTaken, 0);
  return { clock, inFlight, fairness, bodies, running, send, taken };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 100; turn++) await undefined;
};

for (const isFair of [true, false])
  describe(isFair ? 'seats of priority and fairness' : 'requests in flight', () => {
    test('bodies that wait for room leave their places to others', async () => {
      const { running, send, inFlight, taken, fairness, bodies } = createServer(isFair);
      const held = await bodies.enter({ name: 'flood', groups: [] }, 30 * MIB);
      const flood = Array.from({ length: 30 }, () => send('flood', 3 * MIB).catch(() => 429));
      await turns();
      assert.deepEqual([taken(), inFlight.mutating], [0, 0]);
      const polite = Promise.all([send('polite', 100), send('polite', 100 * 1024)]);
      await turns();
      for (const end of running.splice(0)) end();
      assert.deepEqual(await polite, [201, 201]);
      held.end();
      for (let round = 0; round < 30; round++) {
        await turns();
        for (const end of running.splice(0)) end();
      }
      assert.deepEqual(new Set(await Promise.all(flood)), new Set([201]));
      assert.deepEqual([taken(), inFlight.mutating, bodies.bytes], [0, 0, 0]);
      fairness.stop();
    });

    test('a request that timed out while it waited does not take its place again', async () => {
      const { clock, running, send, inFlight, taken, fairness, bodies } = createServer(isFair);
      const held = await bodies.enter({ name: 'flood', groups: [] }, 30 * MIB);
      const late = assert.rejects(send('flood', 3 * MIB, 1000), /did not complete/);
      await clock.advance(1000);
      await late;
      assert.deepEqual([taken(), inFlight.mutating], [0, 0]);
      held.end();
      await turns();
      for (const end of running) end();
      await turns();
      assert.deepEqual([taken(), inFlight.mutating, bodies.bytes], [0, 0, 0]);
      fairness.stop();
    });
  });
