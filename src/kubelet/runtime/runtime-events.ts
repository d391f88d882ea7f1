/**
 * Adds pod uids to the runtime's events. An event can arrive before the call that created its container has returned,
 * so that its id is unknown: it then waits for the creations in progress, instead of causing a full listing, while
 * other events continue. Events are only wake-ups, so their order does not matter.
 */
import { linkedController } from '../../base/abort.ts';
import { Channel } from '../../base/channel.ts';
import type { CriEvent, CriRuntime } from '../../cri/runtime-service.ts';
import type { RuntimeEvent } from '../container/runtime.ts';
import type { PodStatusReader } from './pod-status.ts';

/** Ends and fails with the runtime's stream. */
export async function* runtimeEvents(
  { cri, reader }: { cri: Pick<CriRuntime, 'events'>; reader: PodStatusReader },
  until: AbortSignal,
): AsyncIterable<RuntimeEvent> {
  const own = linkedController(until);
  const { signal } = own;
  const events = new Channel<CriEvent & { readonly at: number }>();
  /** The number of events so far: a listing that begins later covers them. */
  let received = 0;
  let failure: unknown;
  const follow = async (): Promise<void> => {
    try {
      for await (const event of cri.events(signal)) {
        const numbered = { ...event, at: ++received };
        const creations = reader.podUidOf(event.containerId) === undefined ? reader.creations() : undefined;
        if (creations === undefined) events.trySend(numbered);
        else {
          const send = (): void => {
            events.trySend(numbered);
          };
          creations.then(send, send);
        }
      }
    } catch (error) {
      failure = error;
    }
    events.close();
  };
  follow().catch((error: unknown) => {
    failure = error;
    events.close();
  });
  try {
    let listed = 0;
    for await (const { at, ...event } of events) {
      if (reader.podUidOf(event.containerId) === undefined && at > listed) {
        listed = received;
        await reader.getPods(true);
      }
      const podUid = reader.podUidOf(event.containerId);
      // Unknown even to a fresh listing: it belongs to no pod or has been removed.
      if (podUid !== undefined && podUid !== '') yield { ...event, podUid };
    }
  } finally {
    // A failed listing ends the subscription: nothing would read its channel.
    own.abort(new Error('nobody reads the events'));
    own.dispose();
  }
  if (failure !== undefined) throw failure;
}
