/** Parses `--controllers`. Pure. Upstream: controller-manager names, aliases and IsControllerEnabled. */

/** Current names by names of early releases. */
const ALIASES: Readonly<Record<string, string>> = {
  attachdetach: 'persistentvolume-attach-detach-controller',
  bootstrapsigner: 'bootstrap-signer-controller',
  'cloud-node-lifecycle': 'cloud-node-lifecycle-controller',
  'clusterrole-aggregation': 'clusterrole-aggregation-controller',
  cronjob: 'cronjob-controller',
  csrapproving: 'certificatesigningrequest-approving-controller',
  csrcleaner: 'certificatesigningrequest-cleaner-controller',
  csrsigning: 'certificatesigningrequest-signing-controller',
  daemonset: 'daemonset-controller',
  deployment: 'deployment-controller',
  disruption: 'disruption-controller',
  endpoint: 'endpoints-controller',
  endpointslice: 'endpointslice-controller',
  endpointslicemirroring: 'endpointslice-mirroring-controller',
  'ephemeral-volume': 'ephemeral-volume-controller',
  garbagecollector: 'garbage-collector-controller',
  horizontalpodautoscaling: 'horizontal-pod-autoscaler-controller',
  job: 'job-controller',
  'legacy-service-account-token-cleaner': 'legacy-serviceaccount-token-cleaner-controller',
  namespace: 'namespace-controller',
  nodeipam: 'node-ipam-controller',
  nodelifecycle: 'node-lifecycle-controller',
  'persistentvolume-binder': 'persistentvolume-binder-controller',
  'persistentvolume-expander': 'persistentvolume-expander-controller',
  podgc: 'pod-garbage-collector-controller',
  'pv-protection': 'persistentvolume-protection-controller',
  'pvc-protection': 'persistentvolumeclaim-protection-controller',
  replicaset: 'replicaset-controller',
  replicationcontroller: 'replicationcontroller-controller',
  'resource-claim-controller': 'resourceclaim-controller',
  resourcequota: 'resourcequota-controller',
  route: 'node-route-controller',
  'root-ca-cert-publisher': 'root-ca-certificate-publisher-controller',
  service: 'service-lb-controller',
  serviceaccount: 'serviceaccount-controller',
  'serviceaccount-token': 'serviceaccount-token-controller',
  statefulset: 'statefulset-controller',
  'storage-version-gc': 'storageversion-garbage-collector-controller',
  tokencleaner: 'token-cleaner-controller',
  ttl: 'ttl-controller',
  'ttl-after-finished': 'ttl-after-finished-controller',
};

/**
 * Upstream's controllers that are not implemented, with the reason. Disabling one has no effect; enabling one is
 * refused.
 */
const ABSENT: Readonly<Record<string, string>> = {
  'service-lb-controller': 'load balancers come from a cloud, whose own controller manager runs it',
  'node-route-controller': 'routes come from a cloud, whose own controller manager runs it',
  'storage-version-migrator-controller': 'objects are rewritten by nobody but their writers',
  'podcertificaterequest-cleaner-controller': 'PodCertificateRequests are not offered',
  'kube-apiserver-serving-clustertrustbundle-publisher-controller': 'the root CA is published as config maps alone',
  'selinux-warning-controller': 'nodes are not expected to enforce SELinux',
};

/**
 * The names that a list such as `*,-job-controller` selects, in the order of `known`. `*`: all that are not named;
 * `-name`: all but this one. Throws for a name that is unknown or not implemented; the message says which.
 */
export function selectControllers(list: string, known: readonly string[]): string[] {
  const wanted = new Set<string>();
  const unwanted = new Set<string>();
  let all = false;
  for (const item of list.split(',').map((part) => part.trim())) {
    if (item === '') continue;
    if (item === '*') {
      all = true;
      continue;
    }
    const bare = item.replace(/^[-+]/, '');
    const name = Object.hasOwn(ALIASES, bare) ? (ALIASES[bare] ?? bare) : bare;
    const why = Object.hasOwn(ABSENT, name) ? ABSENT[name] : undefined;
    if (why !== undefined) {
      if (item.startsWith('-')) continue;
      throw new Error(`"${bare}" is not built into this controller manager: ${why}`);
    }
    if (!known.includes(name)) throw new Error(`"${bare}" is not in the list of known controllers`);
    (item.startsWith('-') ? unwanted : wanted).add(name);
  }
  return known.filter((name) => wanted.has(name) || (all && !unwanted.has(name)));
}
