/** The resource use of containers. The metrics API is polled while the page is shown. */
import type { Container } from '../../../api/gen/core-v1.ts';
import { quantityAsFloat } from '../../../api/quantity.ts';
import { sendJson } from '../../api/http.ts';
import type { ObjectRef } from '../../api/kinds.ts';

/** In cores and bytes. */
export interface Use {
  readonly cpu: number;
  readonly memory: number;
}

interface PodMetrics {
  readonly timestamp: string;
  readonly containers: readonly {
    readonly name: string;
    readonly usage: { readonly cpu: string; readonly memory: string };
  }[];
}

/** The number of samples, some minutes. */
const SAMPLES = 60;

/** The samples of each container, the newest last. */
export type UseHistory = ReadonlyMap<string, readonly Use[]>;

export async function readUse({ namespace, name }: ObjectRef, signal: AbortSignal): Promise<PodMetrics> {
  const path = [namespace, 'pods', name].map(encodeURIComponent).join('/');
  return sendJson(`/apis/metrics.k8s.io/v1beta1/namespaces/${path}`, { signal });
}

export function withSample(before: UseHistory, { containers }: PodMetrics): UseHistory {
  return new Map(
    containers.map(({ name, usage }) => {
      const use = { cpu: quantityAsFloat(usage.cpu), memory: quantityAsFloat(usage.memory) };
      return [name, [...(before.get(name) ?? []), use].slice(-SAMPLES)];
    }),
  );
}

/** The amount of a full bar: the limit, else the request; 0 when there is neither. */
export function limitOf({ resources }: Container): Use {
  const amount = (resource: string): number => {
    const text = resources?.limits?.[resource] ?? resources?.requests?.[resource];
    return text === undefined ? 0 : quantityAsFloat(text);
  };
  return { cpu: amount('cpu'), memory: amount('memory') };
}
