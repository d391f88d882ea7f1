/**
 * Metrics of the time that pods take to start, as the kubelet sees it and as the API server's clients see it. Upstream:
 * pkg/kubelet/util/pod_startup_latency_tracker.go and SyncPod in pkg/kubelet/kubelet.go.
 *
 * Pods that ran before the kubelet started are not counted. Static pods have no creation time of the API server.
 */
import { sidecarsOf } from '../../api/pod-containers.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import { isMirrorPod, isHostNetworkPod, isStaticPod, podUid } from '../types/pod-update.ts';

const BUCKETS = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];
const PULL_BUCKETS = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600];

/** Upstream's classes of sizes, by their lower bound in MiB, largest first. */
const SIZES: readonly (readonly [number, string])[] = [
  [102_400, 'GT100GB'],
  [61_440, '60GB-100GB'],
  [40_960, '40GB-60GB'],
  [30_720, '30GB-40GB'],
  [20_480, '20GB-30GB'],
  [10_240, '10GB-20GB'],
  [5_120, '5GB-10GB'],
  [1_024, '1GB-5GB'],
  [500, '500MB-1GB'],
  [100, '100MB-500MB'],
  [10, '10MB-100MB'],
];

/** Follows pods from their arrival to their start. */
export interface PodStarts {
  /** The kubelet got the pod from a source. */
  seen(pod: Pod): void;
  /** The kubelet generated a status. */
  reported(pod: Pod, status: PodStatus): void;
  /** The API server sent a version of the pod. */
  watched(pod: Pod): void;
  /** An image was pulled for the pod; it ends now. */
  pulled(uid: string, tookMs: number, sizeBytes: number): void;
  forget(uid: string): void;
}

interface Start {
  readonly seenMs: number;
  reported: boolean;
  watched: boolean;
  pulls: { fromMs: number; toMs: number } | undefined;
}

export function createPodStarts({ clock, metrics }: Pick<BasePlatform, 'clock' | 'metrics'>): PodStarts {
  const { own, sli, total, pulls, perPod } = createHistograms(metrics);
  const starts = new Map<string, Start>();
  let networkSeen = false;
  const forgetIfComplete = (uid: string, start: Start): void => {
    if (start.reported && start.watched) starts.delete(uid);
  };
  return {
    seen(pod) {
      perPod.observe(pod.spec?.containers?.length ?? 0);
      if ((pod.status?.phase ?? 'Pending') !== 'Pending' || isMirrorPod(pod) || starts.has(podUid(pod))) return;
      const watched = isStaticPod(pod);
      starts.set(podUid(pod), { seenMs: clock.monotonicMs(), reported: false, watched, pulls: undefined });
    },
    reported(pod, status) {
      const start = starts.get(podUid(pod));
      if (start === undefined || start.reported || status.phase !== 'Running') return;
      start.reported = true;
      own.observe((clock.monotonicMs() - start.seenMs) / 1000);
      forgetIfComplete(podUid(pod), start);
    },
    watched(pod) {
      const start = starts.get(podUid(pod));
      if (start === undefined || start.watched || !hasStarted(pod)) return;
      start.watched = true;
      const first = !networkSeen && !isHostNetworkPod(pod);
      if (first) networkSeen = true;
      const labels = { first_with_network: String(first) };
      const tookMs = clock.nowMs() - parseTime(pod.metadata.creationTimestamp);
      const pulledMs = start.pulls === undefined ? 0 : start.pulls.toMs - start.pulls.fromMs;
      total.observe(Math.max(0, tookMs) / 1000, labels);
      sli.observe(Math.max(0, tookMs - pulledMs - initMs(pod)) / 1000, labels);
      forgetIfComplete(podUid(pod), start);
    },
    pulled(uid, tookMs, sizeBytes) {
      pulls.observe(tookMs / 1000, { image_size_in_bytes: sizeClass(sizeBytes) });
      const start = starts.get(uid);
      if (start === undefined) return;
      const toMs = clock.monotonicMs();
      start.pulls = { fromMs: Math.min(start.pulls?.fromMs ?? Infinity, toMs - tookMs), toMs };
    },
    forget: (uid) => starts.delete(uid),
  };
}

function sizeClass(bytes: number): string {
  return SIZES.find(([mebibytes]) => bytes >= mebibytes * 1024 * 1024)?.[1] ?? '0-10MB';
}

/** Every container has run. */
function hasStarted({ spec, status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? [];
  return statuses.length > 0 && statuses.length >= (spec?.containers?.length ?? 0) && statuses.every(hasRun);
}

function hasRun({ state }: ContainerStatus): boolean {
  return state?.running?.startedAt !== undefined || state?.terminated?.startedAt !== undefined;
}

/** The total run time of init containers, which run before the others. */
function initMs({ spec, status }: Pod): number {
  const sidecars = new Set(sidecarsOf(spec).map(({ name }) => name));
  let sum = 0;
  for (const { name, state } of status?.initContainerStatuses ?? []) {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    if (!sidecars.has(name) && startedAt !== undefined && finishedAt !== undefined)
      sum += parseTime(finishedAt) - parseTime(startedAt);
  }
  return sum;
}

function createHistograms(metrics: BasePlatform['metrics']) {
  const labels = ['first_with_network'];
  return {
    own: metrics.histogram({
      name: 'kubelet_pod_start_duration_seconds',
      help: 'Time from the kubelet seeing a pod for the first time to the pod running.',
      buckets: BUCKETS,
    }),
    sli: metrics.histogram({
      name: 'kubelet_pod_start_sli_duration_seconds',
      help: 'Time from the creation of a pod until its containers are seen as started, without pulls and init containers.',
      labels,
      buckets: BUCKETS,
    }),
    total: metrics.histogram({
      name: 'kubelet_pod_start_total_duration_seconds',
      help: 'Time from the creation of a pod until its containers are seen as started.',
      labels,
      buckets: BUCKETS,
    }),
    pulls: metrics.histogram({
      name: 'kubelet_image_pull_duration_seconds',
      help: 'Time to pull an image, by its size.',
      labels: ['image_size_in_bytes'],
      buckets: PULL_BUCKETS,
    }),
    perPod: metrics.histogram({
      name: 'kubelet_containers_per_pod_count',
      help: 'Containers of the pods the kubelet is told to run.',
      buckets: [1, 2, 4, 8, 16],
    }),
  };
}
