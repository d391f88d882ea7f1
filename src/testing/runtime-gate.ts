/**
 * A gate between one incarnation of a kubelet and the container runtime: after `cut`, calls of an ended kubelet do not reach the
 * runtime.
 */
import { linkedController } from '../base/abort.ts';
import { wrapMethods } from '../base/wrap-methods.ts';
import type { CriCallOptions } from '../cri/call-options.ts';
import { CriError } from '../cri/cri-error.ts';
import type { CriRuntime } from '../cri/runtime-service.ts';

export interface RuntimeGate {
  readonly runtime: CriRuntime;
  /** Makes every call fail, including pending ones. */
  cut(): void;
}

export function gateRuntime(runtime: CriRuntime): RuntimeGate {
  const life = new AbortController();
  const whileAlive: CriCallOptions = { signal: life.signal };
  const gone = (): CriError => new CriError('Unavailable', 'the connection to the runtime is closed');
  /** Pending calls of an ended kubelet fail. */
  const ended = (result: unknown): unknown =>
    result instanceof Promise ? result.then((value: unknown) => (life.signal.aborted ? fail() : value)) : result;
  const guard = <T extends object>(service: T): T =>
    wrapMethods(service, (_name, method) => (request, callOptions) => {
      if (life.signal.aborted) return Promise.reject(gone());
      if (callOptions === undefined) return ended(method(request, whileAlive));
      const options = callOptions as CriCallOptions;
      if (options.signal === undefined) return ended(method(request, { ...options, ...whileAlive }));
      const linked = linkedController(options.signal, life.signal);
      const result = method(request, { ...options, signal: linked.signal });
      return result instanceof Promise ? ended(result.finally(() => linked.dispose())) : result;
    });
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
