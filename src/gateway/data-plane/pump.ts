/**
 * Carries a body from a stream to where it goes, no faster than that takes it. A receiver that takes nothing for a minute is
 * given up, so that clients which do not read hold neither memory nor a backend.
 */
import type { Readable } from 'node:stream';
import type { Unread } from '../../base/backlog.ts';
import type { CancelTimer, Clock } from '../../platform/clock.ts';
import type { StalledBodies } from './stalled-bodies.ts';

export interface PumpTarget {
  write(chunk: Buffer): boolean;
  onDrain(callback: () => void): void;
}

export interface PumpEvents {
  /** The whole body has been written. */
  readonly onEnd: () => void;
  /** The target takes nothing any more. */
  readonly onStalled: () => void;
  /** The source gives nothing any more, though the target takes it. Absent: it may take any time. */
  readonly onIdle?: () => void;
}

const STALLED_MS = 60_000;

export interface PumpDeps {
  readonly clock: Clock;
  readonly stalled: StalledBodies;
}

/** The source's errors are the caller's. */
export function pump(
  source: Readable,
  target: PumpTarget,
  { clock, stalled }: PumpDeps,
  { onEnd, onStalled, onIdle }: PumpEvents,
): void {
  let cancel: CancelTimer | undefined;
  let waiting: Unread | undefined;
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
