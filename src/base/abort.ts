/** Abort signals as arguments: waits that an abort ends. No timers here; deadlines come from the clock port. */

/** A callback threw when its signal aborted. All other callbacks were called, so only its own work is not cancelled. */
export class AbortCallbackError extends Error {
  constructor(cause: unknown) {
    super('a callback of an abort signal threw', { cause });
    this.name = 'AbortCallbackError';
  }
}

const nothing = (): void => undefined;

const callbacks = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls back when the signal aborts, in the order of registration; the result unregisters. All callbacks of a signal
 * share one listener: a signal that lives as long as its component has hundreds, and the platform walks through all
 * of its listeners to remove one. Not for signals that are aborted already. A callback is registered once: further
 * calls for it, and their results, refer to the same registration. An exception of a callback reaches neither the
 * other callbacks nor the caller of `abort`: it is thrown later, as `AbortCallbackError`, which does not end
 * Keelson's processes.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return nothing;
  let all = callbacks.get(signal);
  if (all === undefined) {
    const made = new Set<() => void>();
    callbacks.set(signal, (all = made));
    const callAll = (): void => {
      let failure: AbortCallbackError | undefined;
      for (const one of made) {
        try {
          one();
        } catch (error) {
          failure ??= new AbortCallbackError(error);
        }
      }
      made.clear();
      if (failure !== undefined) throw failure;
    };
    signal.addEventListener('abort', callAll, { once: true });
  }
  const registered = all;
  registered.add(callback);
  return () => registered.delete(callback);
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
  return new Promise((resolve) => onAbort(signal, resolve));
}

/** A signal that aborts with the first of `signals`, or when `abort` is called. `dispose` unhooks it from long-lived signals. */
export function linkedController(...signals: readonly (AbortSignal | undefined)[]): LinkedController {
  return new LinkedController(signals);
}

/** A class: each watch of each simulated node has some. */
class LinkedController {
  readonly #controller = new AbortController();
  #unhooks: readonly (() => void)[] = [];

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) {
      if (signal === undefined) continue;
      if (signal.aborted) {
        this.abort(signal.reason);
        break;
      }
      const follow = (): void => {
        this.abort(signal.reason);
        this.dispose();
      };
      this.#unhooks = this.#unhooks.concat(onAbort(signal, follow));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  dispose(): void {
    const unhooks = this.#unhooks;
    this.#unhooks = [];
    for (const unhook of unhooks) unhook();
  }
}
