/** The columns of `kubectl get` for each built-in kind. Upstream: printers/internalversion AddHandlers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';

/** Group, kind and columns with their types (default: string); in brackets those of `-o wide`. */
const COLUMNS = `
admissionregistration.k8s.io MutatingAdmissionPolicy: Name, Mutations:integer, ParamKind, Age
admissionregistration.k8s.io MutatingAdmissionPolicyBinding: Name, PolicyName, ParamRef, Age
admissionregistration.k8s.io MutatingWebhookConfiguration: Name, Webhooks:integer, Age
admissionregistration.k8s.io ValidatingAdmissionPolicy: Name, Validations:integer, ParamKind, Age
admissionregistration.k8s.io ValidatingAdmissionPolicyBinding: Name, PolicyName, ParamRef, Age
admissionregistration.k8s.io ValidatingWebhookConfiguration: Name, Webhooks:integer, Age
apiextensions.k8s.io CustomResourceDefinition: Name, Created At:date
apps ControllerRevision: Name, Controller, Revision, Age
apps DaemonSet: Name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, Available:integer, Node Selector, Age, (Containers), (Images), (Selector)
apps Deployment: Name, Ready, Up-to-date, Available, Age, (Containers), (Images), (Selector)
apps ReplicaSet: Name, Desired:integer, Current:integer, Ready:integer, Age, (Containers), (Images), (Selector)
apps StatefulSet: Name, Ready, Age, (Containers), (Images)
autoscaling HorizontalPodAutoscaler: Name, Reference, Targets, MinPods, MaxPods, Replicas, Age
batch CronJob: Name, Schedule, Timezone, Suspend:boolean, Active:integer, Last Schedule, Age, (Containers), (Images), (Selector)
batch Job: Name, Status, Completions, Duration, Age, (Containers), (Images), (Selector)
certificates.k8s.io CertificateSigningRequest: Name, Age, SignerName, Requestor, RequestedDuration, Condition
certificates.k8s.io ClusterTrustBundle: Name, SignerName
coordination.k8s.io Lease: Name, Holder, Age
coordination.k8s.io LeaseCandidate: Name, LeaseName, BinaryVersion, EmulationVersion, Age
core ConfigMap: Name, Data, Age
core Endpoints: Name, Endpoints, Age
core Event: Last Seen, Type, Reason, Object, (Subobject), (Source), Message, (First Seen), (Count), (Name)
core LimitRange: Name, Created At:date
core Namespace: Name, Status, Age
core Node: Name, Status, Roles, Age, Version, (Internal-IP), (External-IP), (OS-Image), (Kernel-Version), (Container-Runtime)
core PersistentVolume: Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age, (VolumeMode)
core PersistentVolumeClaim: Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, (VolumeMode)
core Pod: Name, Ready, Status, Restarts, Age, (IP), (Node), (Nominated Node), (Readiness Gates)
core PodTemplate: Name, Containers, Images, Pod Labels
core ReplicationController: Name, Desired:integer, Current:integer, Ready:integer, Age, (Containers), (Images), (Selector)
core ResourceQuota: Name, Request, Limit, Age
core Secret: Name, Type, Data, Age
core Service: Name, Type, Cluster-IP, External-IP, Port(s), Age, (Selector)
core ServiceAccount: Name, Age
discovery.k8s.io EndpointSlice: Name, AddressType, Ports, Endpoints, Age
events.k8s.io Event: Last Seen, Type, Reason, Object, (Subobject), (Source), Message, (First Seen), (Count), (Name)
flowcontrol.apiserver.k8s.io FlowSchema: Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL
flowcontrol.apiserver.k8s.io PriorityLevelConfiguration: Name, Type, NominalConcurrencyShares, Queues, HandSize, QueueLengthLimit, Age
internal.apiserver.k8s.io StorageVersion: Name, CommonEncodingVersion, StorageVersions, Age
networking.k8s.io IPAddress: Name, ParentRef
networking.k8s.io Ingress: Name, Class, Hosts, Address, Ports, Age
networking.k8s.io IngressClass: Name, Controller, Parameters, Age
networking.k8s.io NetworkPolicy: Name, Pod-Selector, Age
networking.k8s.io ServiceCIDR: Name, CIDRs, Age
node.k8s.io RuntimeClass: Name, Handler, Age
policy PodDisruptionBudget: Name, Min Available, Max Unavailable, Allowed Disruptions:integer, Age
rbac.authorization.k8s.io ClusterRole: Name, Created At:date
rbac.authorization.k8s.io ClusterRoleBinding: Name, Role, Age, (Users), (Groups), (ServiceAccounts)
rbac.authorization.k8s.io Role: Name, Created At:date
rbac.authorization.k8s.io RoleBinding: Name, Role, Age, (Users), (Groups), (ServiceAccounts)
resource.k8s.io DeviceClass: Name, Age
resource.k8s.io DeviceTaintRule: Name, Key, Value, Effect, TimeAdded, Age
resource.k8s.io ResourceClaim: Name, State, Age
resource.k8s.io ResourceClaimTemplate: Name, Age
resource.k8s.io ResourcePoolStatusRequest: Name, Driver, Total, Available, Allocated, Unavailable, Errors, Pools:integer, Status, Completed
resource.k8s.io ResourceSlice: Name, Node, Driver, Pool, Age
scheduling.k8s.io PodGroup: Name, Policy, Workload, Status, Age
scheduling.k8s.io PriorityClass: Name, Value:integer, Global-Default:boolean, Age, PreemptionPolicy
scheduling.k8s.io Workload: Name, Age
storage.k8s.io CSIDriver: Name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, TokenRequests, RequiresRepublish:boolean, Modes, Age
storage.k8s.io CSINode: Name, Drivers:integer, Age
storage.k8s.io CSIStorageCapacity: Name, Created At:date
storage.k8s.io StorageClass: Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age
storage.k8s.io VolumeAttachment: Name, Attacher, PV, Node, Attached:boolean, Age
storage.k8s.io VolumeAttributesClass: Name, DriverName, Age
storagemigration.k8s.io StorageVersionMigration: Name, Resource, Status
`;

test("every kind has upstream's columns", async () => {
  const { storage } = await startWithAll([], 'api/all=true');
  const expected = new Map(
    COLUMNS.trim()
      .split('\n')
      .map((line) => line.split(': ') as [string, string]),
  );
  const seen = new Set<string>();
  for (const { info, definition } of storage.registry.served) {
    const kind = `${info.group === '' ? 'core' : info.group} ${info.kind}`;
    const columns = definition.printer?.columns.map(({ name, type, priority }) => {
      const text = type === 'string' ? name : `${name}:${type}`;
      return priority > 0 ? `(${text})` : text;
    });
    if (!expected.has(kind)) continue;
    seen.add(kind);
    assert.equal(columns?.join(', '), expected.get(kind), `${kind} of ${info.version}`);
  }
  assert.deepEqual([...expected.keys()].toSorted(), [...seen].toSorted());
});
