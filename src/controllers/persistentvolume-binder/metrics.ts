/** The numbers of volumes and claims, counted at each exposition. Upstream: volume/persistentvolume/metrics. */
import type { PersistentVolume, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { createGroupCounts, type Labels } from '../group-counts.ts';

/** The operations that the binder counts. */
export interface BinderMetrics {
  /** Counts the assignment of a default class, or its failure. */
  classAssigned(succeeded: boolean): void;
}

export function createBinderMetrics(metrics: Metrics): BinderMetrics {
  const assigned = metrics.counter({
    name: 'retroactive_storageclass_total',
    help: 'Claims that were given the default class after their creation.',
  });
  const failed = metrics.counter({
    name: 'retroactive_storageclass_errors_total',
    help: 'Claims that could not be given the default class.',
  });
  return { classAssigned: (succeeded) => (succeeded ? assigned : failed).inc() };
}

/** Starts the collector. The returned function stops it, so that no metrics of stopped informers remain. */
export function exposeVolumes(
  metrics: Metrics,
  volumes: Informer<PersistentVolume>,
  claims: Informer<PersistentVolumeClaim>,
): () => void {
  const gauge = (name: string, help: string, labels: string[]) =>
    metrics.gauge({ name: `pv_collector_${name}_count`, help, labels });
  const ofVolumes = {
    bound: gauge('bound_pv', 'Bound volumes.', ['storage_class']),
    unbound: gauge('unbound_pv', 'Volumes that are not bound.', ['storage_class']),
    all: gauge('total_pv', 'Volumes.', ['plugin_name', 'volume_mode']),
  };
  const labels = ['namespace', 'storage_class', 'volume_attributes_class'];
  const ofClaims = {
    bound: gauge('bound_pvc', 'Bound claims.', labels),
    unbound: gauge('unbound_pvc', 'Claims that are not bound.', labels),
  };
  const counts = createGroupCounts();
  const { update } = counts;
  const end = metrics.beforeExpose(() => {
    const classOf = ({ spec }: PersistentVolume): Labels => ({ storage_class: spec?.storageClassName ?? '' });
    const isBound = ({ status }: { readonly status?: { readonly phase?: string } }): boolean =>
      status?.phase === 'Bound';
    const allVolumes = volumes.list();
    update(ofVolumes.bound, allVolumes.filter(isBound), classOf);
    update(
      ofVolumes.unbound,
      allVolumes.filter((volume) => !isBound(volume)),
      classOf,
    );
    update(ofVolumes.all, allVolumes, (volume) => ({
      plugin_name: pluginOf(volume),
      volume_mode: volume.spec?.volumeMode ?? 'Filesystem',
    }));
    const ofClaim = ({ metadata, spec }: Stored<PersistentVolumeClaim>): Labels => ({
      namespace: metadata.namespace,
      storage_class: spec?.storageClassName ?? '',
      volume_attributes_class: spec?.volumeAttributesClassName ?? '',
    });
    const allClaims = claims.list();
    update(ofClaims.bound, allClaims.filter(isBound), ofClaim);
    update(
      ofClaims.unbound,
      allClaims.filter((claim) => !isBound(claim)),
      ofClaim,
    );
  });
  return () => {
    end();
    counts.forget();
  };
}

function pluginOf({ spec }: PersistentVolume): string {
  if (spec?.csi !== undefined) return `kubernetes.io/csi:${spec.csi.driver}`;
  if (spec?.local !== undefined) return 'kubernetes.io/local-volume';
  if (spec?.hostPath !== undefined) return 'kubernetes.io/host-path';
  if (spec?.nfs !== undefined) return 'kubernetes.io/nfs';
  if (spec?.iscsi !== undefined) return 'kubernetes.io/iscsi';
  return spec?.fc === undefined ? 'N/A' : 'kubernetes.io/fc';
}
