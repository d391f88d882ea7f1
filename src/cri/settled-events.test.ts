/** `stopped` is delivered once CRI reports the same state of the container or the sandbox, with few requests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GrpcError } from '../grpc/grpc-error.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { CriRuntimeService } from './gen/cri-types.ts';
import type { CriEvent } from './runtime-service.ts';
import { createSettledEvents } from './settled-events.ts';

interface World {
  readonly container?: { readonly runsForMs: number };
  readonly sandbox?: { readonly readyForMs: number };
  readonly failsWith?: GrpcError;
}

/** The time at which an event is delivered, and the requests until then. */
async function passOn(event: CriEvent, { container, sandbox, failsWith }: World) {
  const clock = new VirtualClock();
  const startMs = clock.monotonicMs();
  const elapsedMs = (): number => clock.monotonicMs() - startMs;
  const asked = { container: 0, sandbox: 0 };
  const absent = (): never => {
    throw failsWith ?? new GrpcError('NotFound', 'not found');
  };
  const runtime = {
    async containerStatus() {
      asked.container++;
      return {
        status: { state: elapsedMs() < (container ?? absent()).runsForMs ? 'CONTAINER_RUNNING' : 'CONTAINER_EXITED' },
      };
    },
    async podSandboxStatus() {
      asked.sandbox++;
      return {
        status: { state: elapsedMs() < (sandbox ?? absent()).readyForMs ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY' },
      };
    },
  } as unknown as CriRuntimeService;
  const events = createSettledEvents({
    clock,
    runtime,
    async *source() {
      yield event;
    },
  });
  const seen: CriEvent[] = [];
  let atMs = -1;
  const reading = (async () => {
    for await (const each of events(new AbortController().signal)) {
      seen.push(each);
      atMs = elapsedMs();
    }
  })();
  await clock.advance(10_000);
  await reading;
  assert.deepEqual(seen, [event]);
  return { atMs, asked };
}

const stopped: CriEvent = { containerId: 'a', type: 'stopped' };

describe('an event that a container has stopped', () => {
  const cases: { about: string; world: World; atMs: number; asked: { container: number; sandbox: number } }[] = [
    { about: 'which CRI knows', world: { container: { runsForMs: 0 } }, atMs: 0, asked: { container: 1, sandbox: 0 } },
    {
      about: 'which CRI learns after 3 ms',
      world: { container: { runsForMs: 3 } },
      atMs: 3,
      asked: { container: 3, sandbox: 0 },
    },
    {
      about: 'which CRI never learns',
      world: { container: { runsForMs: 60_000 } },
      atMs: 1011,
      asked: { container: 11, sandbox: 0 },
    },
    { about: 'of a sandbox', world: { sandbox: { readyForMs: 0 } }, atMs: 0, asked: { container: 1, sandbox: 1 } },
    {
      about: 'of a sandbox whose shim takes 300 ms to go',
      world: { sandbox: { readyForMs: 300 } },
      atMs: 420,
      asked: { container: 1, sandbox: 4 },
    },
    { about: 'of what is removed', world: {}, atMs: 0, asked: { container: 1, sandbox: 1 } },
    {
      about: 'of a runtime that went away',
      world: { failsWith: new GrpcError('Unavailable', 'going down') },
      atMs: 0,
      asked: { container: 1, sandbox: 0 },
    },
  ];
  for (const { about, world, atMs, asked } of cases) {
    it(about, async () => assert.deepEqual(await passOn(stopped, world), { atMs, asked }));
  }
});

it('others are delivered at once without requests', async () => {
  assert.deepEqual(await passOn({ containerId: 'a', type: 'started' }, {}), {
    atMs: 0,
    asked: { container: 0, sandbox: 0 },
  });
});
