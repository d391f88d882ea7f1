/** The work of a request that timed out, or whose client disconnected. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../../api/transport.ts';
import { isReason } from '../../api/status-error.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { parseRequestInfo } from '../request-info.ts';
import { RequestScope } from '../request-scope.ts';
import { MaxInFlight } from './max-in-flight.ts';
import { withTimeout } from './timeout.ts';

const STEP_MS = 100;

/** A request with a timeout of a second, whose stepwise work never ends. */
function createWork() {
  const clock = new VirtualClock();
  const leaving = new AbortController();
  const params = new URLSearchParams();
  const request = {
    method: 'POST',
    path: '/api/v1/namespaces/a/secrets',
    signal: leaving.signal,
    pause: () => clock.sleep(STEP_MS),
  } as unknown as ApiRequest;
  const info = parseRequestInfo({ method: 'POST', path: request.path, params });
  const scope = new RequestScope({ request, info, params, user: { name: 'u', groups: [] } });
  scope.timeoutMs = 1000;
  const work = { steps: 0, isOver: false };
  const serve = withTimeout({ clock, inFlight: new MaxInFlight({ readOnly: 1, mutating: 1 }) })(async () => {
    try {
      for (;;) {
        work.steps++;
        await scope.nextStep();
      }
    } finally {
      work.isOver = true;
    }
  });
  return { clock, leaving, work, serve: () => Promise.resolve(serve(scope)) };
}

test('the work of a timed out request ends at its next step', async () => {
  const { clock, work, serve } = createWork();
  const answer = serve();
  const refused = assert.rejects(answer, (error) => isReason(error, 'Timeout'));
  await clock.advance(10_000);
  await refused;
  assert.ok(work.isOver);
  assert.ok(work.steps <= 1 + 1000 / STEP_MS, String(work.steps));
});

test('the work for a client that has left ends at its next step', async () => {
  const { clock, leaving, work, serve } = createWork();
  const refused = assert.rejects(serve(), /has left/);
  await clock.advance(250);
  leaving.abort(new Error('the client has left'));
  await clock.advance(10_000);
  await refused;
  assert.deepEqual(work, { steps: 3, isOver: true });
});
