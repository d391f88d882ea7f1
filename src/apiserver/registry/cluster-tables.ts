/**
 * Columns of small kinds of many groups in `kubectl get`. Upstream: printers/internalversion, apiextensions,
 * kube-aggregator.
 */
import { humanDuration } from '../../api/age.ts';
import type { APIService } from '../../api/gen/apiregistration-v1.ts';
import type { CertificateSigningRequest } from '../../api/gen/certificates-v1.ts';
import type { ClusterTrustBundle } from '../../api/gen/certificates-v1beta1.ts';
import type { Lease } from '../../api/gen/coordination-v1.ts';
import type { LeaseCandidate } from '../../api/gen/coordination-v1beta1.ts';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import type { RuntimeClass } from '../../api/gen/node-v1.ts';
import type { PodDisruptionBudget } from '../../api/gen/policy-v1.ts';
import type { ResourceClaim, ResourceSlice } from '../../api/gen/resource-v1.ts';
import type { PriorityClass } from '../../api/gen/scheduling-v1.ts';
import { compareTexts } from '../../base/compare-texts.ts';
import { ageCell, ageColumn, booleanColumn, column, integerColumn, printerOf, textOrNone } from './printing.ts';
import type { Printer } from './resource-definition.ts';

export const leasePrinter: Printer<Lease> = printerOf([column('Holder'), ageColumn], (lease, nowMs) => [
  lease.spec?.holderIdentity ?? '',
  ageCell(lease, nowMs),
]);

export const leaseCandidatePrinter: Printer<LeaseCandidate> = printerOf(
  [column('LeaseName'), column('BinaryVersion'), column('EmulationVersion'), ageColumn],
  (candidate, nowMs) => [
    candidate.spec?.leaseName ?? '',
    candidate.spec?.binaryVersion ?? '',
    candidate.spec?.emulationVersion ?? '',
    ageCell(candidate, nowMs),
  ],
);

export const clusterTrustBundlePrinter: Printer<ClusterTrustBundle> = printerOf([column('SignerName')], ({ spec }) => [
  textOrNone(spec?.signerName),
]);

export const runtimeClassPrinter: Printer<RuntimeClass> = printerOf(
  [column('Handler'), ageColumn],
  (runtimeClass, nowMs) => [runtimeClass.handler, ageCell(runtimeClass, nowMs)],
);

export const priorityClassPrinter: Printer<PriorityClass> = printerOf(
  [integerColumn('Value'), booleanColumn('Global-Default'), ageColumn, column('PreemptionPolicy')],
  (priorityClass, nowMs) => [
    priorityClass.value ?? 0,
    priorityClass.globalDefault ?? false,
    ageCell(priorityClass, nowMs),
    priorityClass.preemptionPolicy ?? '',
  ],
);

export const podDisruptionBudgetPrinter: Printer<PodDisruptionBudget> = printerOf(
  [column('Min Available'), column('Max Unavailable'), integerColumn('Allowed Disruptions'), ageColumn],
  (budget, nowMs) => [
    String(budget.spec?.minAvailable ?? 'N/A'),
    String(budget.spec?.maxUnavailable ?? 'N/A'),
    budget.status?.disruptionsAllowed ?? 0,
    ageCell(budget, nowMs),
  ],
);

function requestCondition(request: CertificateSigningRequest): string {
  const types = new Set((request.status?.conditions ?? []).map((condition) => condition.type));
  const verdict = ['Denied', 'Approved'].find((type) => types.has(type)) ?? 'Pending';
  const text = types.has('Failed') ? `${verdict},Failed` : verdict;
  return (request.status?.certificate ?? '') === '' ? text : `${text},Issued`;
}

export const certificateSigningRequestPrinter: Printer<CertificateSigningRequest> = printerOf(
  [ageColumn, column('SignerName'), column('Requestor'), column('RequestedDuration'), column('Condition')],
  (request, nowMs) => {
    const seconds = request.spec.expirationSeconds;
    const duration = seconds === undefined ? '<none>' : humanDuration(seconds * 1000);
    return [
      ageCell(request, nowMs),
      textOrNone(request.spec.signerName),
      request.spec.username ?? '',
      duration,
      requestCondition(request),
    ];
  },
);

const flowSchemaCells: Printer<FlowSchema> = printerOf(
  [
    column('PriorityLevel'),
    column('MatchingPrecedence'),
    column('DistinguisherMethod'),
    ageColumn,
    column('MissingPL'),
  ],
  (schema, nowMs) => {
    const dangling = (schema.status?.conditions ?? []).find((condition) => condition.type === 'Dangling');
    return [
      schema.spec?.priorityLevelConfiguration.name ?? '',
      schema.spec?.matchingPrecedence ?? 0,
      schema.spec?.distinguisherMethod?.type ?? '<none>',
      ageCell(schema, nowMs),
      dangling?.status ?? '?',
    ];
  },
);

/** Flow schemas stand in the order in which they are matched. */
export const flowSchemaPrinter: Printer<FlowSchema> = {
  ...flowSchemaCells,
  compare: (a, b) =>
    (a.spec?.matchingPrecedence ?? 0) - (b.spec?.matchingPrecedence ?? 0) ||
    compareTexts(a.metadata.name!, b.metadata.name!),
};

export const priorityLevelPrinter: Printer<PriorityLevelConfiguration> = printerOf(
  [column('Type'), ...['NominalConcurrencyShares', 'Queues', 'HandSize', 'QueueLengthLimit'].map(column), ageColumn],
  (level, nowMs) => {
    const { type, limited } = level.spec ?? { type: '' };
    const queuing = limited?.limitResponse?.queuing;
    const shown = (value: number | undefined) => value ?? '<none>';
    return [
      type,
      shown(limited?.nominalConcurrencyShares),
      shown(queuing?.queues),
      shown(queuing?.handSize),
      shown(queuing?.queueLengthLimit),
      ageCell(level, nowMs),
    ];
  },
);

export const apiServicePrinter: Printer<APIService> = printerOf(
  [column('Service'), column('Available'), ageColumn],
  (service, nowMs) => {
    const reference = service.spec?.service;
    const available = (service.status?.conditions ?? []).find((condition) => condition.type === 'Available');
    const why =
      available === undefined || available.status === 'True' || (available.reason ?? '') === ''
        ? ''
        : ` (${available.reason})`;
    return [
      reference === undefined ? 'Local' : `${reference.namespace ?? ''}/${reference.name ?? ''}`,
      `${available?.status ?? 'Unknown'}${why}`,
      ageCell(service, nowMs),
    ];
  },
);

export const resourceClaimPrinter: Printer<ResourceClaim> = printerOf([column('State'), ageColumn], (claim, nowMs) => {
  const states = [];
  if (claim.metadata.deletionTimestamp !== undefined) states.push('deleted');
  states.push(claim.status?.allocation === undefined ? 'pending' : 'allocated');
  if ((claim.status?.reservedFor ?? []).length > 0) states.push('reserved');
  return [states.join(','), ageCell(claim, nowMs)];
});

export const resourceSlicePrinter: Printer<ResourceSlice> = printerOf(
  [column('Node'), column('Driver'), column('Pool'), ageColumn],
  (slice, nowMs) => [slice.spec.nodeName ?? '', slice.spec.driver, slice.spec.pool.name, ageCell(slice, nowMs)],
);
