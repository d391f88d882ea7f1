/** Clients of deprecated versions are warned at every request. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from './all-resources-fixture.ts';
import { deprecationOf } from './deprecations.ts';

/** The served versions that upstream deprecates in v1.36 or earlier, by its APILifecycleDeprecated. */
const DEPRECATED = `
admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+
admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+
certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+
coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+
coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+
networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+
networking.k8s.io/v1beta1 ServiceCIDR is deprecated in v1.34+, unavailable in v1.37+
resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, unavailable in v1.39+
resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+
resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+
resource.k8s.io/v1beta1 ResourceClaimTemplate is deprecated in v1.35+, unavailable in v1.38+
resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+
resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+
resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+
resource.k8s.io/v1beta2 ResourceClaimTemplate is deprecated in v1.36+, unavailable in v1.39+
resource.k8s.io/v1beta2 ResourceSlice is deprecated in v1.36+, unavailable in v1.39+
storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass
v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice
`;

test("the deprecated versions among those served, and no others, have upstream's warnings", async () => {
  const { storage, send } = await startWithAll([], 'api/all=true');
  const texts = [...storage.registry.served].flatMap(({ definition }) => deprecationOf(definition) ?? []);
  assert.deepEqual(new Set(texts), new Set(DEPRECATED.trim().split('\n')));
  for (const [path, text] of [
    ['/apis/networking.k8s.io/v1beta1/servicecidrs', /^299 - "networking\.k8s\.io\/v1beta1 ServiceCIDR is deprecated/],
    ['/apis/networking.k8s.io/v1/servicecidrs', /^$/],
  ] as const) {
    const { headers } = await send('GET', path);
    assert.match(String(headers['warning'] ?? ''), text);
  }
});
