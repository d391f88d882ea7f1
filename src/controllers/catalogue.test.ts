/** Each controller under upstream's names: in `--controllers`, as an account, in events, of its queues and its metrics. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import type { Metrics, MetricSpec } from '../platform/metrics.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import type { ControllerDeps } from './controller.ts';
import { controllers, type ControllerName } from './list.ts';

/** '' for none; several are separated by blanks. */
interface Names {
  /** The service account it acts as. */
  readonly account: string;
  /** The component of its events. */
  readonly events: string;
  /** `name` of `workqueue_*`. */
  readonly queues: string;
  readonly metrics: string;
}

/** Names of metrics without their common prefix, which comes first. */
type Row = readonly [account: string, events: string, queues: string, metrics?: string];

const SLICES = 'changes desired_endpoint_slices endpoints_added_per_sync endpoints_desired endpoints_removed_per_sync';

// Differs: queues of which upstream calls several `certificate` have names of their own, and so has the one of attachments.
const rows: Readonly<Record<ControllerName, Row>> = {
  'replicaset-controller': [
    'replicaset-controller',
    'replicaset-controller',
    'replicaset',
    'replicaset_controller_: sorting_deletion_age_ratio',
  ],
  'replicationcontroller-controller': [
    'replication-controller',
    'replication-controller',
    'replicationmanager',
    'replicaset_controller_: sorting_deletion_age_ratio',
  ],
  'deployment-controller': ['deployment-controller', 'deployment-controller', 'deployment'],
  'daemonset-controller': ['daemon-set-controller', 'daemonset-controller', 'daemonset'],
  'job-controller': [
    'job-controller',
    'job-controller',
    'job job_orphan_pod',
    'job_controller_: job_finished_indexes_total job_pods_creation_total job_pods_finished_total job_sync_duration_seconds job_syncs_total jobs_by_external_controller_total jobs_finished_total pod_failures_handled_by_failure_policy_total stale_sync_skips_total terminated_pods_tracking_finalizer_total',
  ],
  'cronjob-controller': [
    'cronjob-controller',
    'cronjob-controller',
    'cronjob',
    'cronjob_controller_: job_creation_skew_duration_seconds',
  ],
  'ttl-after-finished-controller': [
    'ttl-after-finished-controller',
    '',
    'ttl_jobs_to_delete',
    'ttl_after_finished_controller_: job_deletion_duration_seconds',
  ],
  'statefulset-controller': ['statefulset-controller', 'statefulset-controller', 'statefulset'],
  'horizontal-pod-autoscaler-controller': [
    'horizontal-pod-autoscaler',
    'horizontal-pod-autoscaler',
    'horizontalpodautoscaler',
    'horizontal_pod_autoscaler_controller_: desired_replicas metric_computation_duration_seconds metric_computation_total num_horizontal_pod_autoscalers reconciliation_duration_seconds reconciliations_total',
  ],
  'disruption-controller': ['disruption-controller', 'controllermanager', 'disruption stale_pod_disruption'],
  'endpointslice-controller': [
    'endpointslice-controller',
    'endpoint-slice-controller',
    'endpoint_slice',
    `endpoint_slice_controller_: ${SLICES} endpointslices_changed_per_sync num_endpoint_slices services_count_by_traffic_distribution syncs`,
  ],
  'endpointslice-mirroring-controller': [
    'endpointslicemirroring-controller',
    'endpoint-slice-mirroring-controller',
    'endpoint_slice_mirroring',
    `endpoint_slice_mirroring_controller_: addresses_skipped_per_sync ${SLICES} endpoints_sync_duration endpoints_updated_per_sync num_endpoint_slices`,
  ],
  'endpoints-controller': ['endpoint-controller', 'endpoint-controller', 'endpoint'],
  'resourcequota-controller': ['resourcequota-controller', '', 'resourcequota_primary'],
  'resourceclaim-controller': [
    'resource-claim-controller',
    'resource_claim',
    'resource_claim',
    'resourceclaim_controller_: creates_total resource_claims',
  ],
  'namespace-controller': ['namespace-controller', '', 'namespace'],
  'serviceaccount-controller': ['service-account-controller', '', 'serviceaccount'],
  // As the controller manager itself.
  'serviceaccount-token-controller': ['', '', 'serviceaccount_tokens_secret serviceaccount_tokens_service'],
  'legacy-serviceaccount-token-cleaner-controller': ['legacy-service-account-token-cleaner', '', ''],
  'root-ca-certificate-publisher-controller': [
    'root-ca-cert-publisher',
    '',
    'root_ca_cert_publisher',
    'root_ca_cert_publisher_: sync_duration_seconds sync_total',
  ],
  'node-ipam-controller': [
    'node-controller',
    'cidrAllocator',
    'cidrallocator_node',
    'node_ipam_controller_: cidrset_allocation_tries_per_request cidrset_cidrs_allocations_total cidrset_cidrs_releases_total cidrset_usage_cidrs cirdset_max_cidrs',
  ],
  'node-lifecycle-controller': [
    'node-controller',
    'node-controller',
    'node_lifecycle_controller',
    'node_collector_: evictions_total unhealthy_nodes_in_zone update_all_nodes_health_duration_seconds update_node_health_duration_seconds zone_health zone_size',
  ],
  'cloud-node-lifecycle-controller': ['node-controller', 'cloud-node-lifecycle-controller', ''],
  'ttl-controller': ['ttl-controller', '', 'ttlcontroller'],
  'taint-eviction-controller': [
    'node-controller',
    'taint-eviction-controller',
    'noexec_taint_pod',
    'taint_eviction_controller_: pod_deletion_duration_seconds pod_deletions_total',
  ],
  'device-taint-eviction-controller': [
    'device-taint-eviction-controller',
    'device-taint-eviction-controller',
    '',
    'device_taint_eviction_controller_: pod_deletion_duration_seconds pod_deletions_total',
  ],
  'garbage-collector-controller': [
    'generic-garbage-collector',
    'garbage-collector-controller',
    'garbage_collector_attempt_to_delete garbage_collector_attempt_to_orphan',
    'garbagecollector_controller_: resources_sync_error_total',
  ],
  'clusterrole-aggregation-controller': ['clusterrole-aggregation-controller', '', 'ClusterRoleAggregator'],
  'certificatesigningrequest-signing-controller': ['certificate-controller', '', 'csr_signing'],
  'certificatesigningrequest-approving-controller': ['certificate-controller', '', 'csr_approving'],
  'kubelet-serving-certificate-approving-controller': ['certificate-controller', '', 'kubelet_serving_approving'],
  'certificatesigningrequest-cleaner-controller': ['certificate-controller', '', ''],
  'bootstrap-signer-controller': ['bootstrap-signer', '', 'bootstrap_signer_queue'],
  'token-cleaner-controller': ['token-cleaner', '', 'token_cleaner'],
  'persistentvolume-binder-controller': [
    'persistent-volume-binder',
    'persistentvolume-controller',
    'claims volumes',
    ': pv_collector_bound_pv_count pv_collector_bound_pvc_count pv_collector_total_pv_count pv_collector_unbound_pv_count pv_collector_unbound_pvc_count retroactive_storageclass_errors_total retroactive_storageclass_total',
  ],
  'persistentvolume-attach-detach-controller': [
    'attachdetach-controller',
    'attachdetach-controller',
    'attach_detach',
    ': attachdetach_controller_forced_detaches attachdetach_controller_total_volumes storage_count_attachable_volumes_in_use',
  ],
  'persistentvolume-expander-controller': ['', 'volume_expand', 'volume_expand'],
  'ephemeral-volume-controller': [
    'ephemeral-volume-controller',
    'ephemeral_volume',
    'ephemeral_volume',
    'ephemeral_volume_controller_: create_failures_total create_total',
  ],
  'local-path-provisioner-controller': [
    'local-path-provisioner',
    'keelson.dev/local-path',
    'local_path_claims local_path_volumes',
  ],
  'persistentvolumeclaim-protection-controller': ['pvc-protection-controller', '', 'pvcprotection'],
  'persistentvolume-protection-controller': ['pv-protection-controller', '', 'pvprotection'],
  'volumeattributesclass-protection-controller': ['volumeattributesclass-protection-controller', '', 'vacprotection'],
  'pod-garbage-collector-controller': [
    'pod-garbage-collector',
    '',
    '',
    'pod_gc_collector_: force_delete_pod_errors_total force_delete_pods_total',
  ],
  'service-cidr-controller': ['service-cidrs-controller', '', 'ipaddresses'],
  // Its queue is made once the server is seen to serve the API.
  'storageversion-garbage-collector-controller': ['storage-version-garbage-collector', '', ''],
  'validatingadmissionpolicy-status-controller': [
    'validatingadmissionpolicy-status-controller',
    '',
    'validatingadmissionpolicy-status',
  ],
};

/** Makes the controller, and ends it before it has begun. */
async function namesOf(name: ControllerName): Promise<Names> {
  const platform = createSimPlatform();
  const { clock, random, log } = platform;
  const client = createInProcessClient({
    handler: () => Promise.reject(new Error('nobody is there')),
    clock,
    principal: { name: 'nobody', groups: [] },
    userAgent: 'test',
  });
  const [accounts, sources, queues, told] = [[], [], [], []] as [string[], string[], string[], string[]];
  const recording =
    <T>(register: (spec: MetricSpec) => T) =>
    (spec: MetricSpec): T => {
      if (!spec.name.startsWith('workqueue_')) told.push(spec.name);
      const metric = register(spec);
      if (spec.name !== 'workqueue_depth') return metric;
      // The labels that the shutdown of a queue removes, for every created queue.
      return { ...metric, remove: (labels: Record<string, string>) => void queues.push(labels['name']!) };
    };
  const metrics: Metrics = {
    ...platform.metrics,
    counter: recording(platform.metrics.counter),
    gauge: recording(platform.metrics.gauge),
    histogram: recording(platform.metrics.histogram),
  };
  const deps: ControllerDeps = {
    client,
    clientFor: (account) => (accounts.push(account), client),
    informers: createInformerFactory({ client, clock, random, log }),
    platform: { ...platform, metrics },
    recorderFor: (component) => (sources.push(component), { event: () => undefined }),
    config: {
      clusterCidrs: ['10.42.0.0/16'],
      clusterSigning: { certPem: '', keyPem: '' },
      rootCaPem: 'ca',
      signServiceAccountToken: async () => 'token',
      cloudNodes: { stateOf: async () => 'exists' },
    },
  };
  const controller = controllers[name](deps);
  assert.equal(controller.name, name);
  const stop = new AbortController();
  const ended = controller.start(stop.signal);
  stop.abort(new Error('enough'));
  await clock.drive(ended);
  const listed = (of: readonly string[]): string => [...new Set(of)].toSorted().join(' ');
  return { account: listed(accounts), events: listed(sources), queues: listed(queues), metrics: listed(told) };
}

function expected([account, events, queues, metrics = '']: Row): Names {
  const [subsystem = '', names] = metrics.split(': ');
  const all = (names?.split(' ') ?? []).map((name) => subsystem + name);
  return { account, events, queues, metrics: all.join(' ') };
}

describe('controllers under upstream’s names', () => {
  for (const name of Object.keys(controllers) as ControllerName[])
    it(name, async () => assert.deepEqual(await namesOf(name), expected(rows[name])));
});
