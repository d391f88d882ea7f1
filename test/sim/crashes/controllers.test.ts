/**
 * Every controller is killed before and after each of its writes, and at every one in a row: the world must reach the same end as
 * undisturbed, nothing is created twice, nothing is lost, and a controller that starts once all is at rest has nothing to do.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { controllers, type ControllerFactory, type ControllerName } from '../../../src/controllers/list.ts';
import { nodeWorlds } from './nodes-fixture.ts';
import { runWorld, survives, type CrashWorld } from './run-world-fixture.ts';
import { serviceWorlds } from './services-fixture.ts';
import { storageWorlds } from './storage-fixture.ts';
import { workloadWorlds } from './workloads-fixture.ts';

/** The limit of runs per world beside the undisturbed one; more crash points are sampled. */
const MOST_POINTS = 18;

/** Controllers that write only events: there is nothing between which they could die. */
const WRITES_NOTHING: readonly string[] = ['persistentvolume-expander-controller'];

const worlds: Readonly<Record<ControllerName, CrashWorld>> = {
  ...workloadWorlds,
  ...serviceWorlds,
  ...nodeWorlds,
  ...storageWorlds,
};

/** Upstream's metrics of single controllers, beside those of all work queues, which the worlds must set. */
const METRICS: Readonly<Partial<Record<ControllerName, readonly string[]>>> = {
  'replicaset-controller': ['replicaset_controller_sorting_deletion_age_ratio_count'],
  'job-controller': [
    'job_controller_job_syncs_total',
    'job_controller_job_sync_duration_seconds_count',
    'job_controller_jobs_finished_total',
    'job_controller_job_pods_finished_total',
    'job_controller_job_pods_creation_total',
    'job_controller_terminated_pods_tracking_finalizer_total',
  ],
  'cronjob-controller': ['cronjob_controller_job_creation_skew_duration_seconds_count'],
  'ttl-after-finished-controller': ['ttl_after_finished_controller_job_deletion_duration_seconds_count'],
  'horizontal-pod-autoscaler-controller': [
    'horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers',
    'horizontal_pod_autoscaler_controller_reconciliations_total',
    'horizontal_pod_autoscaler_controller_reconciliation_duration_seconds_count',
  ],
  'pod-garbage-collector-controller': ['pod_gc_collector_force_delete_pods_total'],
  'endpointslice-controller': ['changes', 'syncs', 'num_endpoint_slices', 'endpoints_added_per_sync_count'].map(
    (name) => `endpoint_slice_controller_${name}`,
  ),
  'endpointslice-mirroring-controller': ['changes', 'endpoints_sync_duration_count', 'num_endpoint_slices'].map(
    (name) => `endpoint_slice_mirroring_controller_${name}`,
  ),
  'root-ca-certificate-publisher-controller': ['root_ca_cert_publisher_sync_total'],
  'node-ipam-controller': [
    'cidrset_cidrs_allocations_total',
    'cidrset_cidrs_releases_total',
    'cidrset_usage_cidrs',
  ].map((name) => `node_ipam_controller_${name}`),
  'node-lifecycle-controller': ['zone_size', 'zone_health', 'unhealthy_nodes_in_zone', 'evictions_total'].map(
    (name) => `node_collector_${name}`,
  ),
  'taint-eviction-controller': ['taint_eviction_controller_pod_deletions_total'],
  'device-taint-eviction-controller': ['device_taint_eviction_controller_pod_deletions_total'],
  'resourceclaim-controller': ['resourceclaim_controller_creates_total'],
  'ephemeral-volume-controller': ['ephemeral_volume_controller_create_total'],
  'persistentvolume-binder-controller': ['pv_collector_bound_pv_count', 'pv_collector_total_pv_count'],
};

/** Sums of the series of each metric. */
function valuesOf(metrics: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const [, name = '', value] of metrics.matchAll(/^([a-z_]+)(?:\{[^\n]*\})? (\S+)$/gm))
    values.set(name, (values.get(name) ?? 0) + Number(value));
  return values;
}

describe('a controller killed at any of its writes', () => {
  for (const [name, factory] of Object.entries<ControllerFactory>(controllers)) {
    it(name, async () => {
      const world = (worlds as Readonly<Record<string, CrashWorld | undefined>>)[name];
      assert.ok(world, 'a controller without a world: give it one');
      const program = { factories: [factory] };
      if (WRITES_NOTHING.includes(name)) return assert.deepEqual((await runWorld(program, world)).writes, []);
      const calm = await survives(program, world, { most: MOST_POINTS, seed: name, late: true });
      assert.equal(calm.writesAtResync, 0, `a resync writes:\n${calm.writes.slice(-calm.writesAtResync).join('\n')}`);
      const values = valuesOf(calm.metrics);
      assert.deepEqual(
        (METRICS[name as ControllerName] ?? []).filter((metric) => !values.has(metric)),
        [],
        'metrics',
      );
    });
  }
});
