/** VolumeZone: a bound volume's zone and region labels must be the node's. Upstream: plugins/volumezone. */
import type { PersistentVolume } from '../../../api/gen/core-v1.ts';
import type { SchedulerPlugin } from '../../framework/plugin.ts';
import { unresolvable } from '../../framework/status.ts';
import { claimsOf, isOwnClaim, type FindClaim } from '../../framework/pod-claims.ts';

const NAME = 'VolumeZone';
const KEYS = [
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
];

interface ZoneLabel {
  readonly volume: string;
  readonly key: string;
  readonly values: ReadonlySet<string>;
}

export function createVolumeZone(
  findClaim: FindClaim,
  findVolume: (name: string) => PersistentVolume | undefined,
): SchedulerPlugin {
  return {
    name: NAME,
    preFilter(state, pod) {
      const volumes = claimsOf(pod).flatMap(
        ({ name }) => findVolume(findClaim(pod.metadata.namespace, name)?.spec?.volumeName ?? '') ?? [],
      );
      const labels = volumes.flatMap(zoneLabels);
      if (labels.length === 0) return { code: 'skip', reasons: [], plugin: NAME };
      state.set(NAME, labels);
      return undefined;
    },
    filter(state, _pod, { node }) {
      const labels = node.metadata.labels ?? {};
      if (!KEYS.some((key) => Object.hasOwn(labels, key))) return undefined; // The cluster has no zones.
      const conflict = (state.get(NAME) as readonly ZoneLabel[]).some(
        ({ key, values }) => !values.has(labels[key] ?? ''),
      );
      return conflict ? unresolvable(NAME, 'node(s) had no available volume zone') : undefined;
    },
    explain(state, _pod, { node }) {
      const labels = node.metadata.labels ?? {};
      return (state.get(NAME) as readonly ZoneLabel[])
        .filter(({ key, values }) => !values.has(labels[key] ?? ''))
        .map(({ volume, key, values }) => ({
          what: `volume ${volume} is in ${key} ${[...values].join(', ')}, the node in ${labels[key] ?? 'none'}`,
          distance: 1,
        }));
    },
    events: [
      { event: 'persistent-volume-claim/add', hint: (pod, _old, now) => isOwnClaim(pod, now) },
      { event: 'persistent-volume-claim/update', hint: (pod, _old, now) => isOwnClaim(pod, now) },
      { event: 'persistent-volume/add' },
      {
        event: 'persistent-volume/update',
        hint: (_pod, old, now) => zonesOf(old as PersistentVolume) !== zonesOf(now as PersistentVolume),
      },
      { event: 'node/add' },
      { event: 'node/update-label' },
    ],
  };
}

function zonesOf({ metadata }: PersistentVolume): string {
  return JSON.stringify(KEYS.map((key) => metadata.labels?.[key]));
}

/** The labels' values; a volume in several zones has `a__b`. */
function zoneLabels(volume: PersistentVolume): ZoneLabel[] {
  const labels = volume.metadata.labels ?? {};
  const { name = '' } = volume.metadata;
  return KEYS.flatMap((key) =>
    labels[key] === undefined ? [] : [{ volume: name, key, values: new Set(labels[key].split('__')) }],
  );
}
