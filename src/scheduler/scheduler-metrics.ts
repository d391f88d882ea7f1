/** The scheduler's metrics, under upstream's names (pkg/scheduler/metrics). */
import type { Metrics } from '../platform/metrics.ts';
import type { DeviceMetrics } from './framework/plugin-deps.ts';
import type { Status } from './framework/status.ts';

/** The result of a scheduling attempt. */
export type AttemptResult = 'scheduled' | 'unschedulable' | 'error';

/** The labels of an attempt. */
export interface Attempt {
  readonly profile: string;
  readonly result: AttemptResult;
  /** From the start of the cycle to its end, binding included. */
  readonly seconds: number;
}

export interface SchedulerMetrics extends DeviceMetrics {
  attempt(attempt: Attempt): void;
  /** `attempts`: the number of attempts; `seconds`: from entering the queue to bound. */
  scheduled(attempts: number, seconds: number): void;
  algorithmSeconds(seconds: number): void;
  /** `point`: upstream's name, capitalized. */
  pointSeconds(point: string, measurement: { profile: string; status: Status | undefined; seconds: number }): void;
  /** The duration of one call of one plugin. */
  pluginSeconds(measurement: { plugin: string; point: string; status: Status | undefined; seconds: number }): void;
  preemptionAttempt(): void;
  victims(count: number): void;
  /** A pod entered a part of the queue because of an event. */
  incoming(event: string, queue: string): void;
}

const SECONDS = [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8, 16];
const POINT_SECONDS = Array.from({ length: 12 }, (_, i) => 0.0001 * 2 ** i);
const CALL_SECONDS = Array.from({ length: 20 }, (_, i) => 0.00001 * 1.5 ** i);
const SLI_SECONDS = Array.from({ length: 20 }, (_, i) => 0.01 * 2 ** i);
const WAIT_SECONDS = Array.from({ length: 14 }, (_, i) => 0.1 * 2 ** i);
const FEW = [1, 2, 4, 8, 16];
const VICTIMS = [1, 2, 4, 8, 16, 32, 64];

const CODES: Readonly<Record<Status['code'], string>> = {
  unschedulable: 'Unschedulable',
  unresolvable: 'UnschedulableAndUnresolvable',
  error: 'Error',
  wait: 'Wait',
  skip: 'Skip',
  pending: 'Pending',
};

function nameOf(status: Status | undefined): string {
  return status === undefined ? 'Success' : CODES[status.code];
}

export function createSchedulerMetrics(metrics: Metrics): SchedulerMetrics {
  return {
    ...attemptMetrics(metrics),
    ...preemptionMetrics(metrics),
    ...pointMetrics(metrics),
    ...queueMetrics(metrics),
    ...deviceMetrics(metrics),
  };
}

function attemptMetrics(metrics: Metrics): Pick<SchedulerMetrics, 'attempt' | 'scheduled' | 'algorithmSeconds'> {
  const attempts = metrics.counter({
    name: 'scheduler_schedule_attempts_total',
    help: 'Attempts to place a pod, by how they ended.',
    labels: ['result', 'profile'],
  });
  const duration = metrics.histogram({
    name: 'scheduler_scheduling_attempt_duration_seconds',
    help: 'Time of an attempt to place a pod, binding included.',
    labels: ['result', 'profile'],
    buckets: SECONDS,
  });
  const sli = metrics.histogram({
    name: 'scheduler_pod_scheduling_sli_duration_seconds',
    help: 'Time from entering the queue to bound, over all attempts.',
    labels: ['attempts'],
    buckets: SLI_SECONDS,
  });
  const needed = metrics.histogram({
    name: 'scheduler_pod_scheduling_attempts',
    help: 'Attempts it took to place a pod.',
    labels: [],
    buckets: FEW,
  });
  const algorithm = metrics.histogram({
    name: 'scheduler_scheduling_algorithm_duration_seconds',
    help: 'Time to choose a node.',
    labels: [],
    buckets: SECONDS,
  });
  return {
    attempt({ result, profile, seconds }) {
      attempts.inc({ result, profile });
      duration.observe(seconds, { result, profile });
    },
    scheduled(count, seconds) {
      needed.observe(count);
      sli.observe(seconds, { attempts: count >= 15 ? '15+' : String(count) });
    },
    algorithmSeconds: (seconds) => algorithm.observe(seconds),
  };
}

function preemptionMetrics(metrics: Metrics): Pick<SchedulerMetrics, 'preemptionAttempt' | 'victims'> {
  const attempts = metrics.counter({
    name: 'scheduler_preemption_attempts_total',
    help: 'Attempts to make room for a pod.',
  });
  const victims = metrics.histogram({
    name: 'scheduler_preemption_victims',
    help: 'Pods chosen to make room, per attempt.',
    buckets: VICTIMS,
  });
  return { preemptionAttempt: () => attempts.inc(), victims: (count) => victims.observe(count) };
}

function pointMetrics(metrics: Metrics): Pick<SchedulerMetrics, 'pointSeconds' | 'pluginSeconds'> {
  const calls = metrics.histogram({
    name: 'scheduler_plugin_execution_duration_seconds',
    help: 'Time of one call of a plugin at an extension point, in one cycle of ten.',
    labels: ['plugin', 'extension_point', 'status'],
    buckets: CALL_SECONDS,
  });
  const points = metrics.histogram({
    name: 'scheduler_framework_extension_point_duration_seconds',
    help: 'Time of all plugins at one extension point.',
    labels: ['extension_point', 'status', 'profile'],
    buckets: POINT_SECONDS,
  });
  return {
    pointSeconds: (point, { profile, status, seconds }) =>
      points.observe(seconds, {
        extension_point: point,
        status: nameOf(status),
        profile,
      }),
    pluginSeconds: ({ plugin, point, status, seconds }) =>
      calls.observe(seconds, { plugin, extension_point: point, status: nameOf(status) }),
  };
}

function queueMetrics(metrics: Metrics): Pick<SchedulerMetrics, 'incoming'> {
  const incoming = metrics.counter({
    name: 'scheduler_queue_incoming_pods_total',
    help: 'Pods that entered a part of the queue, by the event that brought them.',
    labels: ['queue', 'event'],
  });
  return { incoming: (event, queue) => incoming.inc({ queue, event }) };
}

function deviceMetrics(metrics: Metrics): DeviceMetrics {
  const claims = metrics.counter({
    name: 'scheduler_resourceclaim_creates_total',
    help: "Claims to be made for pods' extended resources, by how that ended.",
    labels: ['status'],
  });
  const ofWait = ['profile', 'driver', 'status'];
  const waits = metrics.counter({
    name: 'scheduler_dra_bindingconditions_allocations_total',
    help: 'Attempts to bind a pod that waited for devices of a driver, by how that ended.',
    labels: ofWait,
  });
  const duration = metrics.histogram({
    name: 'scheduler_dra_bindingconditions_wait_duration_seconds',
    help: 'Time that binding waited for devices to be ready.',
    labels: ofWait,
    buckets: WAIT_SECONDS,
  });
  return {
    claimCreated: (status) => claims.inc({ status }),
    waitedFor({ profile, driver, status, seconds }) {
      waits.inc({ profile, driver, status });
      duration.observe(seconds, { profile, driver, status });
    },
  };
}
