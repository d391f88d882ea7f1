/** Abort signals as arguments: waiting with a way out. No timers here; deadlines come from the clock port. */

/** Throws the signal's reason when it is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw signal.reason;
}

/** Settles as `promise` does, or rejects with the signal's reason as soon as it aborts. The work itself is not stopped. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  if (signal.aborted) {
    promise.catch(() => undefined);
    return Promise.reject(signal.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** Resolves when the signal aborts. Never rejects. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
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
    const onAbort = (): void => {
      controller.abort(signal.reason);
      dispose();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    unhooks.push(() => signal.removeEventListener('abort', onAbort));
  }
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), dispose };
}
