import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec, Volume, VolumeProjection } from '../api/gen/core-v1.ts';
import { apiObjectReference } from './api-object-reference.ts';

const container = (parts: Partial<Container>): Partial<PodSpec> => ({ containers: [{ name: 'c', ...parts }] });
const volume = (source: Partial<Volume>): Partial<PodSpec> => ({ volumes: [{ name: 'v', ...source }] });
const projected = (...sources: VolumeProjection[]): Partial<PodSpec> => volume({ projected: { sources } });
const downward = { downwardAPI: { items: [] } };

const cases: readonly (readonly [spec: Partial<PodSpec>, resource: string | undefined])[] = [
  [{}, undefined],
  [volume({ hostPath: { path: '/' } }), undefined],
  [volume({ emptyDir: {} }), undefined],
  [projected(downward), undefined],
  [{ serviceAccountName: 'a' }, 'serviceaccounts'],
  [{ imagePullSecrets: [{ name: 's' }] }, 'secrets'],
  [container({ env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }), 'secrets'],
  [container({ envFrom: [{ configMapRef: { name: 'm' } }] }), 'configmaps'],
  [{ resourceClaims: [{ name: 'r', resourceClaimName: 'r' }] }, 'resourceclaims'],
  [volume({ configMap: { name: 'm' } }), 'configmaps'],
  [volume({ configMap: {} }), 'configmaps (via configmap volumes)'],
  [volume({ secret: { secretName: 's' } }), 'secrets'],
  [volume({ csi: { driver: 'd' } }), 'csidrivers (via CSI volumes)'],
  [volume({ glusterfs: { endpoints: 'e', path: 'p' } }), 'endpoints (via glusterFS volumes)'],
  [volume({ persistentVolumeClaim: { claimName: 'c' } }), 'persistentvolumeclaims'],
  [volume({ ephemeral: {} }), 'persistentvolumeclaims (via ephemeral volumes)'],
  [projected(downward, { serviceAccountToken: { path: 't' } }), 'serviceaccounts (via projected volumes)'],
  [projected({ clusterTrustBundle: { path: 'b' } }), 'clustertrustbundles'],
  [projected({ podCertificate: { keyType: 'ED25519', signerName: 'a/b' } }), 'podcertificates'],
];
for (const [spec, resource] of cases)
  test(`${JSON.stringify(spec)} refers to ${resource ?? 'nothing'}`, () => {
    assert.equal(apiObjectReference({ metadata: {}, spec: { containers: [], ...spec } }), resource);
  });
