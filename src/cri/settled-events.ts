/**
 * Delays `stopped` events until CRI reports the same state: containerd publishes an exit before its CRI plugin has
 * processed it, so that a list at once would still show a running container, with no further event.
 */
import { linkedController } from '../base/abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../platform/clock.ts';
import { isCriCode } from './cri-error.ts';
import type { CriRuntimeService } from './gen/cri-types.ts';
import type { CriEvent } from './runtime-service.ts';

/** A source of events, and the service to ask for states. */
export interface SettledEventsDeps {
  readonly clock: Clock;
  readonly runtime: CriRuntimeService;
  source(signal: AbortSignal): AsyncIterable<CriEvent>;
}

/** Pauses between the checks; after the last one the event is delivered anyway, and the periodic relist corrects it. */
const WAITS_MS = {
  container: [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
  // CRI reports it once the shim has gone, and thirty pods that end at once would cause hundreds of calls.
  sandbox: [0, 20, 100, 300, 600],
};

type Kind = keyof typeof WAITS_MS;

/** Whether the container or sandbox of this id has stopped; undefined when there is none of this kind. */
async function hasStopped(runtime: CriRuntimeService, kind: Kind, id: string): Promise<boolean | undefined> {
  try {
    if (kind === 'container') {
      const { status } = await runtime.containerStatus({ containerId: id });
      return status?.state !== 'CONTAINER_RUNNING';
    }
    const { status } = await runtime.podSandboxStatus({ podSandboxId: id });
    return status?.state !== 'SANDBOX_READY';
  } catch (error) {
    if (isCriCode(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Events in the order in which they settle. Ends and fails like the source. */
export function createSettledEvents({
  clock,
  runtime,
  source,
}: SettledEventsDeps): (signal: AbortSignal) => AsyncIterable<CriEvent> {
  /** False when the runtime has no object of this id. */
  const settled = async (kind: Kind, id: string, signal: AbortSignal): Promise<boolean> => {
    for (const waitMs of WAITS_MS[kind]) {
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      const stopped = await hasStopped(runtime, kind, id);
      if (stopped !== false) return stopped === true;
    }
    return true;
  };
  const settle = async ({ containerId }: CriEvent, signal: AbortSignal): Promise<void> => {
    try {
      if (!(await settled('container', containerId, signal))) await settled('sandbox', containerId, signal);
    } catch {
      // The runtime or the reader has disconnected: the event only triggers a read, and must not be lost.
    }
  };

  return async function* (until) {
    const own = linkedController(until);
    const { signal } = own;
    const channel = new Channel<CriEvent>();
    let failure: unknown;
    const pending = new Set<Promise<void>>();
    const pump = async (): Promise<void> => {
      try {
        for await (const event of source(signal)) {
          if (event.type !== 'stopped') {
            channel.trySend(event);
            continue;
          }
          const settling = settle(event, signal)
            .then(() => {
              channel.trySend(event);
            })
            .finally(() => pending.delete(settling));
          pending.add(settling);
        }
      } catch (error) {
        failure = error;
      }
      await Promise.all(pending);
      channel.close();
    };
    pump().catch((error: unknown) => {
      failure = error;
      channel.close();
    });
    try {
      yield* channel;
    } finally {
      // When the reader stops, the subscription ends, since nobody would read its channel.
      own.abort(new Error('nobody reads the events'));
      own.dispose();
    }
    if (failure !== undefined) throw failure;
  };
}
