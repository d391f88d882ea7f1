/**
 * certificates.k8s.io. The server records the requesting user, never the client. PodCertificateRequests are not
 * offered: signers rely on the server's verification of the proof in them, and this kubelet creates none. Upstream:
 * registry/certificates.
 */
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../../api/gen/certificates-v1.ts';
import {
  CertificateSigningRequests,
  ClusterTrustBundles,
  ClusterTrustBundlesV1alpha1,
} from '../../../api/gen/resources.ts';
import { leaf } from '../../../api/managed-fields/field-set.ts';
import { nameIsPathSegment } from '../../../api/name-checks.ts';
import { formatTime } from '../../../api/time.ts';
import {
  validateCertificateSigningRequest,
  validateCertificateSigningRequestApproval,
  validateCertificateSigningRequestStatus,
  validateCertificateSigningRequestUpdate,
} from '../../../api/validation/certificates.ts';
import {
  validateClusterTrustBundle,
  validateClusterTrustBundleUpdate,
} from '../../../api/validation/cluster-trust-bundle.ts';
import type { Clock } from '../../../platform/clock.ts';
import { certificateSigningRequestPrinter, clusterTrustBundlePrinter } from '../cluster-tables.ts';
import { defineResource } from '../define-resource.ts';
import { type KindRules, statusStrategy } from '../kind-strategy.ts';
import type { ResourceDefinition, SelectableFields } from '../resource-definition.ts';
import type { RegistryServices } from '../services.ts';

const rules: KindRules<CertificateSigningRequest> = {
  emptyStatus: {},
  // The server owns the whole request: updates ignore the client's.
  resetFields: { 'f:spec': leaf, 'f:status': leaf },
  validateName: nameIsPathSegment,
  prepareForCreate(draft, { user }) {
    const { username: _username, uid: _uid, groups: _groups, extra: _extra, ...spec } = draft.spec;
    draft.spec = { ...spec, username: user.name, groups: [...user.groups] };
    if ((user.uid ?? '') !== '') draft.spec.uid = user.uid!;
    if (user.extra !== undefined && Object.keys(user.extra).length > 0) {
      draft.spec.extra = Object.fromEntries(Object.entries(user.extra).map(([key, values]) => [key, [...values]]));
    }
  },
  prepareForUpdate: (draft, old) => {
    draft.spec = old.spec;
  },
  validate: validateCertificateSigningRequest,
  validateUpdate: validateCertificateSigningRequestUpdate,
};

/** Sets the conditions' times. On copies, since they may be the old object's. */
function stamp(draft: CertificateSigningRequest, old: CertificateSigningRequest, clock: Clock): void {
  const { conditions } = draft.status ?? {};
  if (conditions === undefined) return;
  const now = formatTime(clock.nowMs());
  const transitionOf = ({ type, status }: CertificateSigningRequestCondition): string =>
    old.status?.conditions?.find((other) => other.type === type && other.status === status)?.lastTransitionTime ?? now;
  const stamped = conditions.map((condition) => ({
    ...condition,
    lastUpdateTime: condition.lastUpdateTime ?? now,
    lastTransitionTime: condition.lastTransitionTime ?? transitionOf(condition),
  }));
  draft.status = { ...draft.status, conditions: stamped };
}

/** Only the sub-resource `approval` may approve or deny: elsewhere conditions of these types are restored. */
function keepVerdict(draft: CertificateSigningRequest, old: CertificateSigningRequest): void {
  let conditions = draft.status?.conditions ?? [];
  for (const verdict of ['Approved', 'Denied']) {
    const before = (old.status?.conditions ?? []).filter(({ type }) => type === verdict);
    if (conditions.filter(({ type }) => type === verdict).length !== before.length) continue;
    const kept = before.values();
    conditions = conditions.map((condition) =>
      condition.type === verdict ? (kept.next().value ?? condition) : condition,
    );
  }
  if (conditions.length > 0) draft.status = { ...draft.status, conditions };
}

const requestFields: SelectableFields<CertificateSigningRequest> = ({ spec }) => ({
  'spec.signerName': spec?.signerName ?? '',
});

function signingRequests(clock: Clock): ResourceDefinition {
  return defineResource(CertificateSigningRequests, {
    rules,
    printer: certificateSigningRequestPrinter,
    selectableFields: requestFields,
    objectSubresources: {
      approval: {
        strategy: statusStrategy(rules, {
          resetFields: { 'f:spec': leaf, 'f:status': { 'f:certificate': leaf } },
          prepareForUpdate(draft, old) {
            draft.status = {
              ...old.status,
              ...(draft.status?.conditions === undefined ? {} : { conditions: draft.status.conditions }),
            };
            stamp(draft, old, clock);
          },
          validateUpdate: validateCertificateSigningRequestApproval,
        }),
      },
      status: {
        strategy: statusStrategy(rules, {
          resetFields: { 'f:spec': leaf, 'f:status': { 'f:conditions': leaf } },
          prepareForUpdate(draft, old) {
            keepVerdict(draft, old);
            stamp(draft, old, clock);
          },
          validateUpdate: validateCertificateSigningRequestStatus,
        }),
      },
    },
  });
}

export function certificatesDefinitions({ platform }: RegistryServices): ResourceDefinition[] {
  const bundleRules = {
    allowUnconditionalUpdate: false,
    validate: validateClusterTrustBundle,
    validateUpdate: validateClusterTrustBundleUpdate,
    validateName: bundleName,
  };
  return [
    signingRequests(platform.clock),
    defineResource(ClusterTrustBundles, {
      rules: bundleRules,
      printer: clusterTrustBundlePrinter,
      selectableFields: ({ spec }) => ({ 'spec.signerName': spec?.signerName ?? '' }),
    }),
    defineResource(ClusterTrustBundlesV1alpha1, {
      rules: bundleRules,
      printer: clusterTrustBundlePrinter,
      selectableFields: ({ spec }) => ({ 'spec.signerName': spec?.signerName ?? '' }),
    }),
  ];
}

/** Names of bundles have their signer before colons; the object's validation checks that. */
function bundleName(name: string): string[] {
  return nameIsPathSegment(name, false);
}
