/**
 * Copies a body from a stream to a target at the target's pace. A receiver that reads nothing for a minute is given up, so that
 * such clients hold neither memory nor a backend.
 */
import type { Readable } from 'node:stream';
import type { UnreadBytes } from '../../base/backlog.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { StalledBodies } from './stalled-bodies.ts';

export interface PumpTarget {
  write(chunk: Buffer): boolean;
  onDrain(callback: () => void): void;
}

export interface PumpEvents {
  /** Called when the whole body has been written. */
  readonly onEnd: () => void;
  /** Called when the target reads nothing for too long. */
  readonly onStalled: () => void;
  /** Called when the source sends nothing for too long although the target reads. Absent when the source may take any time. */
  readonly onIdle?: () => void;
}

const STALLED_MS = 60_000;

export interface PumpDeps {
  readonly clock: Clock;
  readonly stalled: StalledBodies;
}

/** The caller handles the source's errors. */
export function pump(
  source: Readable,
  target: PumpTarget,
  { clock, stalled }: PumpDeps,
  { onEnd, onStalled, onIdle }: PumpEvents,
): void {
  let cancel: CancelTimer | undefined;
  let waiting: UnreadBytes | undefined;
  const waitFor = (onTimeout: (() => void) | undefined): void => {
    cancel?.();
    cancel = onTimeout && clock.setTimer(STALLED_MS, onTimeout);
  };
  waitFor(onIdle);
  target.onDrain(() => {
    waiting?.leave();
    waitFor(source.readableEnded || source.destroyed ? undefined : onIdle);
    source.resume();
  });
  source.on('data', (chunk: Buffer) => {
    if (target.write(chunk)) {
      if (onIdle !== undefined) waitFor(onIdle);
      return;
    }
    source.pause();
    waiting?.leave();
    waiting = stalled.enter(onStalled);
    waitFor(onStalled);
  });
  source.once('end', () => {
    waitFor(undefined);
    onEnd();
  });
  source.once('close', () => {
    waiting?.leave();
    waitFor(undefined);
  });
}
