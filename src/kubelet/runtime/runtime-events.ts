/**
 * The runtime's events with the pods they belong to. An event can come before the call that made its container has been
 * answered, and at such times its id is not known yet: it waits for the answers under way instead of causing a listing of
 * everything, and the others do not wait for it. Events are wake-ups: their order means nothing.
 */
import { linkedController } from '../../base/abort.ts';
import { Channel } from '../../base/channel.ts';
import type { CriEvent, CriRuntime } from '../../cri/runtime-service.ts';
import type { RuntimeEvent } from '../container/runtime.ts';
import type { PodStatusReader } from './pod-status.ts';

/** Ends and fails as the runtime's own stream does. */
export async function* runtimeEvents(
  { cri, reader }: { cri: Pick<CriRuntime, 'events'>; reader: PodStatusReader },
  until: AbortSignal,
): AsyncIterable<RuntimeEvent> {
  const own = linkedController(until);
  const { signal } = own;
  const events = new Channel<CriEvent & { readonly at: number }>();
  /** Events so far: a listing that begins later shows all that is left of what they speak of. */
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
      // Unknown even to a fresh listing: not a pod's, or already removed and then of no more interest.
      if (podUid !== undefined && podUid !== '') yield { ...event, podUid };
    }
  } finally {
    // A listing that fails ends the subscription: its channel would not be read.
    own.abort(new Error('nobody reads the events'));
    own.dispose();
  }
  if (failure !== undefined) throw failure;
}
