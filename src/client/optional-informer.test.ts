import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DeviceTaintRules } from '../api/gen/resources.ts';
import { forbidden, serviceUnavailable } from '../api/status-error.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createInProcessClient } from './in-process-transport.ts';
import { createInformerFactory } from './informer-factory.ts';
import { createOptionalInformer } from './optional-informer.ts';
import { createFakeApi } from './fake-api-fixture.ts';

describe('an informer of a resource that may not be served', () => {
  const refusal = () => forbidden({ group: 'resource.k8s.io', resource: 'devicetaintrules' }, '', 'not yours');
  const cases: [what: string, served: boolean, fails: (attempt: number) => Error | undefined, expected: boolean][] = [
    ['follows what is', true, () => undefined, true],
    ['has nothing of what is not', false, () => undefined, false],
    ['goes without what it is always refused', true, refusal, false],
    ['waits for a role that comes late', true, (attempt) => (attempt === 1 ? refusal() : undefined), true],
    ['waits for a server', true, (n) => (n < 9 ? serviceUnavailable('not yet') : undefined), true],
  ];
  for (const [what, served, fails, expected] of cases)
    it(what, async () => {
      const clock = new VirtualClock();
      const api = createFakeApi(() => '2026-01-01T00:00:00Z');
      api.seed(DeviceTaintRules, { metadata: { name: 'r' } } as never);
      let lists = 0;
      api.intercept = ({ path }) => {
        if (!path.endsWith('/devicetaintrules')) return;
        const error = fails(++lists);
        if (error !== undefined) throw error;
      };
      const discovery = { resources: served ? [{ name: 'devicetaintrules' }] : [] };
      const client = createInProcessClient({
        handler: async (request) =>
          /\/apis\/resource.k8s.io\/[^/]+$/.test(request.path)
            ? { kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from(JSON.stringify(discovery))] }
            : await api.handler(request),
        clock,
        principal: { name: 'a', groups: [] },
        userAgent: 'test',
      });
      const log = createMemoryLog();
      const informers = createInformerFactory({ client, clock, random: createSeededRandom(1), log });
      const stop = new AbortController();
      const informer = createOptionalInformer({ client, informers, clock, log }, DeviceTaintRules);
      assert.equal(await clock.drive(informer.start(stop.signal)), expected);
      assert.equal(informer.list().length, expected ? 1 : 0);
      stop.abort(new Error('test over'));
    });
});
