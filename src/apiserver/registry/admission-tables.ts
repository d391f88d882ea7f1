/** Columns of admission webhooks and policies in `kubectl get`. Upstream: printers/internalversion. */
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from '../../api/gen/admissionregistration-v1.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import { ageCell, ageColumn, column, integerColumn, printerOf } from './printing.ts';
import type { Printer } from './resource-definition.ts';

export const webhookConfigurationPrinter: Printer<ValidatingWebhookConfiguration | MutatingWebhookConfiguration> =
  printerOf([integerColumn('Webhooks'), ageColumn], (configuration, nowMs) => [
    (configuration.webhooks ?? []).length,
    ageCell(configuration, nowMs),
  ]);

function paramKindCell(kind: ParamKind | undefined): string {
  return kind === undefined ? '<unset>' : `${kind.apiVersion ?? ''}/${kind.kind ?? ''}`;
}

/** A selector as Go prints the struct. */
function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.keys(matchLabels)
    .toSorted()
    .map((key) => `${key}: ${matchLabels[key]},`);
  const expressions = matchExpressions.map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  const parts = [
    `MatchLabels:map[string]string{${labels.join('')}}`,
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}}`,
  ];
  return `&LabelSelector{${parts.join(',')},}`;
}

/** A parameter without a namespace: the namespace is unknown here. */
function paramRefCell(reference: ParamRef | undefined): string {
  const { name = '', namespace = '', selector } = reference ?? {};
  if (name !== '') return `${namespace === '' ? '*' : namespace}/${name}`;
  return selector === undefined ? '<unset>' : selectorText(selector);
}

export const validatingAdmissionPolicyPrinter: Printer<ValidatingAdmissionPolicy> = printerOf(
  [integerColumn('Validations'), column('ParamKind'), ageColumn],
  (policy, nowMs) => [
    (policy.spec?.validations ?? []).length,
    paramKindCell(policy.spec?.paramKind),
    ageCell(policy, nowMs),
  ],
);

export const mutatingAdmissionPolicyPrinter: Printer<MutatingAdmissionPolicy> = printerOf(
  [integerColumn('Mutations'), column('ParamKind'), ageColumn],
  (policy, nowMs) => [
    (policy.spec?.mutations ?? []).length,
    paramKindCell(policy.spec?.paramKind),
    ageCell(policy, nowMs),
  ],
);

export const admissionPolicyBindingPrinter: Printer<MutatingAdmissionPolicyBinding | ValidatingAdmissionPolicyBinding> =
  printerOf([column('PolicyName'), column('ParamRef'), ageColumn], (binding, nowMs) => [
    binding.spec?.policyName ?? '',
    paramRefCell(binding.spec?.paramRef),
    ageCell(binding, nowMs),
  ]);
