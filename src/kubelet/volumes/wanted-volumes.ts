/** The desired volumes of a pod with the state of their set-up, and the reports about them. */
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { createBackoff, type Backoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import type { AwaitedVolume } from '../../api/pod-node-state.ts';
import type { CancelTimer } from '../../platform/clock.ts';
import { podNamespace } from '../types/pod-update.ts';
import { referenceKey, volumeReferences } from './object-references.ts';
import type { SetUpResult } from './volume-plugin.ts';
import { usedVolumeNames, VolumeProcessingError } from './volume-resolution.ts';

/** The longest error text in a pod's state. */
const MAX_MESSAGE_CHARS = 4096;
const BACKOFF_SHAPE = { initialMs: 500, maxMs: 122_000 } as const;

export interface ReadyVolume extends SetUpResult {
  /** Set up again when the pod or an object it refers to changes. */
  readonly live: boolean;
  /** Directory of the volume's own content; `large`: the pod writes it. */
  readonly content?: { readonly path: string; readonly large: boolean };
}

/** One volume of a pod. */
export interface WantedVolume {
  readonly volume: Volume;
  readonly references: readonly string[];
  readonly backoff: Backoff;
  ready?: ReadyVolume;
  error?: unknown;
  working: boolean;
  again: boolean;
  attaching: boolean;
  readonly sinceMs: number;
  plugin?: string;
  cancelTimer?: CancelTimer;
}

/** Names of volumes that are not ready, sorted. */
export interface VolumeProblems {
  readonly unmounted: readonly string[];
  /** Volumes that wait to be attached. */
  readonly unattached: readonly string[];
  /** Volumes that cannot be processed, with their errors. */
  readonly unprocessed: readonly string[];
  readonly texts: readonly string[];
}

/** The volumes that the pod uses and that are not in `known`. */
export function newVolumes(pod: Pod, known: Set<string>, nowMs: number): WantedVolume[] {
  const { mounted, devices } = usedVolumeNames(pod);
  const added: WantedVolume[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    // The runtime mounts images.
    if (volume.image !== undefined) continue;
    if (!mounted.has(volume.name) && !devices.has(volume.name)) continue;
    if (known.has(volume.name)) continue;
    known.add(volume.name);
    const references = volumeReferences(podNamespace(pod), volume).map(referenceKey);
    const backoff = createBackoff(BACKOFF_SHAPE);
    added.push({ volume, references, backoff, working: false, again: false, attaching: false, sinceMs: nowMs });
  }
  return added;
}

export function problemsOf(volumes: readonly WantedVolume[]): VolumeProblems {
  const missing = volumes.filter(({ ready }) => ready === undefined);
  const refused = missing.filter(isRefused);
  const namesOf = (some: readonly WantedVolume[]): string[] => some.map(({ volume }) => volume.name).sort();
  return {
    unmounted: namesOf(missing),
    unattached: namesOf(missing.filter(({ attaching }) => attaching)),
    unprocessed: namesOf(refused),
    texts: refused.map(({ error }) => errorMessage(error)),
  };
}

export function awaitedOf(volumes: readonly WantedVolume[]): readonly AwaitedVolume[] {
  return volumes.flatMap(({ volume, ready, error, attaching, sinceMs }) => {
    if (ready !== undefined) return [];
    const waitsFor = error instanceof VolumeProcessingError ? 'process' : attaching ? 'attach' : 'mount';
    const text = error === undefined ? undefined : errorMessage(error).slice(0, MAX_MESSAGE_CHARS);
    return [{ name: volume.name, waitsFor, since: formatTime(sinceMs), error: text }];
  });
}

/** Whether it is not ready, or being worked on. */
export function isUnsettled({ ready, working }: WantedVolume): boolean {
  return ready === undefined || working;
}

/** Whether it cannot be processed; only a change of the pod helps. */
export function isRefused({ ready, error }: WantedVolume): boolean {
  return ready === undefined && error instanceof VolumeProcessingError;
}
