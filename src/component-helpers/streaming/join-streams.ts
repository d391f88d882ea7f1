/** Joins two connections: everything one sends, ends and errors included, reaches the other. */
import type { Duplex } from '../../platform/streams.ts';

/** One direction. */
interface Copy {
  /** Whether the sender has ended its side and everything was written. */
  isWhole: boolean;
  /** Never rejects. */
  readonly over: Promise<void>;
}

/** Returns at once; both connections stay open until both directions have ended. */
export function joinStreams(client: Duplex, backend: Duplex): void {
  const up = copy(client, backend);
  const down = copy(backend, client);
  endWith(client, { sent: up, received: down }, backend);
  endWith(backend, { sent: down, received: up }, client);
}

/** Copies until the sender ends. An error on either side destroys both. */
function copy(from: Duplex, to: Duplex): Copy {
  const run = async (): Promise<void> => {
    try {
      for await (const chunk of from.incoming) await to.write(chunk);
      state.isWhole = true;
      await to.end();
    } catch {
      from.destroy();
      to.destroy();
    }
  };
  // Starts in a later turn, when `state` is initialized.
  const state: Copy = { isWhole: false, over: Promise.resolve().then(run) };
  return state;
}

/**
 * Ends the other connection when one has closed, since its own end may never come: at once after an error; after an
 * orderly end when everything was delivered.
 */
function endWith(
  ended: Duplex,
  { sent, received }: { readonly sent: Copy; readonly received: Copy },
  other: Duplex,
): void {
  const end = async (): Promise<void> => {
    if (received.isWhole) await sent.over;
    other.destroy();
  };
  ended.closed.then(end, end);
}
