/** The container runtime as one incarnation of a kubelet sees it: cut off, nothing a dead kubelet still does reaches it. */
import { linkedController } from '../base/abort.ts';
import { CriError } from '../cri/cri-error.ts';
import type { CriRuntime } from '../cri/runtime-service.ts';

/** A gate before a runtime. */
export interface RuntimeGate {
  readonly runtime: CriRuntime;
  /** Every call, also those under way, fails from now on. */
  cut(): void;
}

/** Makes a gate. */
export function gateRuntime(runtime: CriRuntime): RuntimeGate {
  const life = new AbortController();
  const gone = (): CriError => new CriError('Unavailable', 'the connection to the runtime is closed');
  const guard = <T extends object>(service: T): T => {
    const methods = Object.entries(service).map(([name, method]) => [
      name,
      (...args: unknown[]) => {
        if (life.signal.aborted) return Promise.reject(gone());
        const result = (method as (...values: unknown[]) => unknown)(...args);
        return result instanceof Promise ? result.finally(() => void (life.signal.aborted && fail())) : result;
      },
    ]);
    return Object.fromEntries(methods) as T;
  };
  const fail = (): never => {
    throw gone();
  };
  return {
    runtime: {
      runtime: guard(runtime.runtime),
      images: guard(runtime.images),
      events: (signal) => runtime.events(linkedController(signal, life.signal).signal),
    },
    cut: () => life.abort(gone()),
  };
}
