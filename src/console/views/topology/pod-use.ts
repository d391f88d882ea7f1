/** The resource use of pods from the metrics API, polled while it is shown. */
import { quantityAsFloat } from '../../../api/quantity.ts';
import { sendJson } from '../../api/http.ts';

/** In cores and bytes. */
export interface PodUse {
  readonly cpu: number;
  readonly memory: number;
}

export type Measure = keyof PodUse;

interface PodMetricsList {
  readonly items: readonly {
    readonly metadata: { readonly namespace: string; readonly name: string };
    readonly containers: readonly { readonly usage: { readonly cpu: string; readonly memory: string } }[];
  }[];
}

/** The use of pods by `namespace/name`. Rejects with `ApiError`. */
export async function readPodUse(
  { namespace, labelSelector }: { readonly namespace: string; readonly labelSelector: string },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PodUse>> {
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const params = labelSelector === '' ? '' : `?${new URLSearchParams({ labelSelector }).toString()}`;
  const { items } = await sendJson<PodMetricsList>(`/apis/metrics.k8s.io/v1beta1${scope}/pods${params}`, { signal });
  return new Map(
    items.map(({ metadata, containers }) => [`${metadata.namespace}/${metadata.name}`, sumOf(containers)]),
  );
}

function sumOf(containers: PodMetricsList['items'][number]['containers']): PodUse {
  const sum = { cpu: 0, memory: 0 };
  for (const { usage } of containers) {
    sum.cpu += quantityAsFloat(usage.cpu);
    sum.memory += quantityAsFloat(usage.memory);
  }
  return sum;
}
