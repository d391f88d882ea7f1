/**
 * Makes a static pod from a manifest: uid, name, namespace, node and the kubelet's annotations. Pure. Upstream:
 * applyDefaults in pkg/kubelet/config/common.go.
 */
import { shown } from '../../base/shown.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { formatMicroTime } from '../../api/time.ts';
import { stableStringify } from '../../base/stable-json.ts';
import { apiObjectReference } from '../../component-helpers/api-object-reference.ts';
import {
  CONFIG_FIRST_SEEN_ANNOTATION,
  CONFIG_HASH_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  type PodSource,
} from '../types/pod-update.ts';

/** Where a manifest came from. */
export interface ManifestOrigin {
  readonly source: Exclude<PodSource, 'api'>;
  /** File path or URL. */
  readonly location: string;
  readonly nodeName: string;
  readonly nowMs: number;
  readonly sha256Hex: (data: string) => string;
}

/** Sets defaults and validates a pod that did not come through the API server. Throws the validation error. */
export type PreparePod = (pod: Pod) => Pod;

/** A manifest without a valid pod. */
export class ManifestError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ManifestError';
  }
}

function asPod(value: unknown): Pod {
  const object = value as { kind?: unknown; apiVersion?: unknown; metadata?: unknown; spec?: unknown } | null;
  if (object === null || typeof object !== 'object') throw new ManifestError('manifest is not an object');
  if (object.apiVersion !== 'v1' || object.kind !== 'Pod')
    throw new ManifestError(`invalid pod: apiVersion ${shown(object.apiVersion)}, kind ${shown(object.kind)}`);
  if (object.metadata === null || typeof object.metadata !== 'object')
    throw new ManifestError('invalid pod: metadata is missing');
  if (object.spec === null || typeof object.spec !== 'object') throw new ManifestError('invalid pod: spec is missing');
  return object as Pod;
}

/** Pods in a decoded manifest: one Pod, or a list of them. */
export function podsOfManifest(value: unknown): readonly Pod[] {
  const list = value as { kind?: unknown; items?: unknown } | null;
  if (
    list !== null &&
    typeof list === 'object' &&
    (list.kind === 'PodList' || list.kind === 'List') &&
    Array.isArray(list.items)
  ) {
    return list.items.map((item: unknown) => asPod({ apiVersion: 'v1', kind: 'Pod', ...(item as object) }));
  }
  return [asPod(value)];
}

/** The static pod, which must not need the API server. A changed manifest has another uid, so it is another pod. */
export function staticPodOf(manifest: Pod, origin: ManifestOrigin): Pod {
  const { metadata, spec } = manifest;
  if (metadata.name === undefined || metadata.name === '')
    throw new ManifestError('invalid pod: metadata.name is required');
  const reference = apiObjectReference(manifest);
  if (reference !== undefined) throw new ManifestError(`static pods may not reference ${reference}`);
  const hashed = `${stableStringify(manifest)}\nhost:${origin.nodeName}\n${origin.source}:${origin.location}`;
  const uid = metadata.uid ?? origin.sha256Hex(hashed).slice(0, 32);
  const tolerations = spec?.tolerations ?? [];
  const bearsAll = tolerations.some(
    (toleration) =>
      toleration.operator === 'Exists' && toleration.effect === 'NoExecute' && toleration.key === undefined,
  );
  return {
    ...manifest,
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name}-${origin.nodeName.toLowerCase()}`,
      namespace: metadata.namespace ?? 'default',
      annotations: {
        ...metadata.annotations,
        [CONFIG_HASH_ANNOTATION]: uid,
        [CONFIG_SOURCE_ANNOTATION]: origin.source,
        [CONFIG_FIRST_SEEN_ANNOTATION]: formatMicroTime(origin.nowMs),
      },
    },
    spec: {
      ...spec!,
      nodeName: origin.nodeName,
      // Static pods tolerate all NoExecute taints, so that node problems do not evict them.
      tolerations: bearsAll ? tolerations : [...tolerations, { operator: 'Exists', effect: 'NoExecute' }],
    },
    status: { phase: 'Pending' },
  };
}
