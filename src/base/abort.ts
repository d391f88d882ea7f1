/** Abort signals as arguments: waiting with a way out. No timers here; deadlines come from the clock port. */

/** Throws the signal's reason when it is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts, in the order of registration; the result unregisters. All callbacks of a signal share
 * one listener: a signal that lives as long as its component has hundreds, and the platform walks through all of its
 * listeners to take one off. Not for signals that are aborted already. Callbacks must not throw.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let all = callbacks.get(signal);
  if (all === undefined) {
    const made = new Set<() => void>();
    callbacks.set(signal, (all = made));
    const callAll = (): void => {
      for (const one of made) one();
      made.clear();
    };
    signal.addEventListener('abort', callAll, { once: true });
  }
  const entry = (): void => callback();
  const registered = all.add(entry);
  return () => void registered.delete(entry);
}

/** Settles as `promise` does, or rejects with the signal's reason as soon as it aborts. The work itself is not stopped. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  if (signal.aborted) {
    promise.catch(() => undefined);
    return Promise.reject(signal.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const unhook = onAbort(signal, () => reject(signal.reason));
    promise.then(resolve, reject).finally(unhook);
  });
}

/** Resolves when the signal aborts. Never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => void onAbort(signal, resolve));
}

/** A signal that aborts with the first of `signals`, or when `abort` is called. `dispose` unhooks it from long-lived signals. */
export function linkedController(...signals: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  dispose(): void;
} {
  const controller = new AbortController();
  const unhooks: (() => void)[] = [];
  const dispose = (): void => {
    for (const unhook of unhooks.splice(0)) unhook();
  };
  for (const signal of signals) {
    if (signal === undefined) continue;
    if (signal.aborted) {
      controller.abort(signal.reason);
      break;
    }
    const follow = (): void => {
      controller.abort(signal.reason);
      dispose();
    };
    unhooks.push(onAbort(signal, follow));
  }
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), dispose };
}
