/** Both ends of an idle connection write a line break periodically; an end that receives nothing for long closes it. */
import type { Clock } from '../../platform/clock.ts';
import type { Duplex } from '../../platform/streams.ts';

const PERIOD_MS = 20_000;
/** Routers may forget a connection, and a machine may vanish, without closing it. */
const SILENCE_MS = 3 * PERIOD_MS;
const BEAT = '\n';

/** Keeps a connection alive until `stop`. Call `onData` for each received chunk. */
export function keepAlive(
  clock: Clock,
  connection: Duplex,
): { readonly onData: () => void; readonly stop: () => void } {
  let heardMs = clock.monotonicMs();
  const beat = (): void => {
    if (clock.monotonicMs() - heardMs > SILENCE_MS)
      connection.destroy(new Error(`nothing came for ${SILENCE_MS / 1000} s`));
    else connection.write(BEAT).catch((error: Error) => connection.destroy(error));
  };
  const stop = clock.setTicker(PERIOD_MS, beat);
  return {
    stop,
    onData: () => {
      heardMs = clock.monotonicMs();
    },
  };
}
