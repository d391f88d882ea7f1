/** Translates Kubernetes' names of stop signals into CRI's. Upstream: kuberuntime/util (RuntimeSignalFromString). */
import type { Signal } from '../../cri/gen/cri-types.ts';

/** `SIGRTMIN+1` → `SIGRTMINPLUS1`; absent → the image's or the runtime's default. */
export function signalOf(name: string | undefined): Signal {
  if (name === undefined || name === '') return 'RUNTIME_DEFAULT';
  return name.replace('+', 'PLUS').replace('-', 'MINUS') as Signal;
}
