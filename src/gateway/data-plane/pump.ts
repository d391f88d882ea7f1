/**
 * Carries a body from a stream to where it goes, no faster than that takes it. A receiver that takes nothing for a minute is
 * given up, so that clients which do not read hold neither memory nor a backend.
 */
import type { Readable } from 'node:stream';
import type { CancelTimer, Clock } from '../../platform/clock.ts';

export interface PumpTarget {
  write(chunk: Buffer): boolean;
  onDrain(callback: () => void): void;
}

const STALLED_MS = 60_000;

/** `onEnd` is called at the whole body's end, `onStalled` when the target takes nothing; the source's errors are the caller's. */
export function pump(
  source: Readable,
  target: PumpTarget,
  clock: Clock,
  { onEnd, onStalled }: { readonly onEnd: () => void; readonly onStalled: () => void },
): void {
  let cancel: CancelTimer | undefined;
  target.onDrain(() => {
    cancel?.();
    cancel = undefined;
    source.resume();
  });
  source.on('data', (chunk: Buffer) => {
    if (target.write(chunk)) return;
    source.pause();
    cancel ??= clock.setTimer(STALLED_MS, onStalled);
  });
  source.once('end', onEnd);
  source.once('close', () => cancel?.());
}
