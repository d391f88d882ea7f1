/** Warnings to clients of deprecated API versions. Upstream: APILifecycleDeprecated of the types, handlers/warning. */
import { apiVersionOf } from '../api/resource-info.ts';
import type { ResourceDefinition } from './registry/resource-definition.ts';

type Release = `v1.${number}`;

/** Kinds of a version, since when they are deprecated and from when on they are not served. */
type Lifecycle = readonly [apiVersion: string, kinds: readonly string[], deprecated: Release, removed: Release];

const DEVICE_KINDS = ['DeviceClass', 'ResourceClaim', 'ResourceClaimTemplate', 'ResourceSlice'];

const LIFECYCLES: readonly Lifecycle[] = [
  [
    'admissionregistration.k8s.io/v1alpha1',
    ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'],
    'v1.35',
    'v1.38',
  ],
  ['certificates.k8s.io/v1alpha1', ['ClusterTrustBundle'], 'v1.34', 'v1.37'],
  ['coordination.k8s.io/v1alpha2', ['LeaseCandidate'], 'v1.35', 'v1.38'],
  ['coordination.k8s.io/v1beta1', ['LeaseCandidate'], 'v1.36', 'v1.39'],
  ['networking.k8s.io/v1beta1', ['IPAddress', 'ServiceCIDR'], 'v1.34', 'v1.37'],
  ['resource.k8s.io/v1alpha3', ['DeviceTaintRule'], 'v1.36', 'v1.39'],
  ['resource.k8s.io/v1beta1', DEVICE_KINDS, 'v1.35', 'v1.38'],
  ['resource.k8s.io/v1beta2', DEVICE_KINDS, 'v1.36', 'v1.39'],
];

/** By API version and kind. Only what is served although deprecated. */
const TEXTS: ReadonlyMap<string, string> = new Map([
  ['v1 Endpoints', 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
  ['v1 ComponentStatus', 'v1 ComponentStatus is deprecated in v1.19+'],
  [
    'storage.k8s.io/v1beta1 VolumeAttributesClass',
    'storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass',
  ],
  ...LIFECYCLES.flatMap(([apiVersion, kinds, deprecated, removed]) =>
    kinds.map((kind): [string, string] => [
      `${apiVersion} ${kind}`,
      `${apiVersion} ${kind} is deprecated in ${deprecated}+, unavailable in ${removed}+`,
    ]),
  ),
]);

/** The warning for clients that use the resource, if any. */
export function deprecationOf({ info, deprecationWarning }: ResourceDefinition): string | undefined {
  return deprecationWarning ?? TEXTS.get(`${apiVersionOf(info)} ${info.kind}`);
}
