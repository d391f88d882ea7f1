/** Defaults of webhook configurations and admission policies. Upstream: apis/admissionregistration/v1/defaults.go. */
import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '../gen/admissionregistration-v1.ts';

function setWebhookDefaults(webhook: ValidatingWebhook): void {
  webhook.failurePolicy ??= 'Fail';
  webhook.matchPolicy ??= 'Equivalent';
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  for (const rule of webhook.rules ?? []) rule.scope ??= '*';
  if (webhook.clientConfig?.service !== undefined) webhook.clientConfig.service.port ??= 443;
}

export function setValidatingWebhookConfigurationDefaults(configuration: ValidatingWebhookConfiguration): void {
  for (const webhook of configuration.webhooks ?? []) setWebhookDefaults(webhook);
}

export function setMutatingWebhookConfigurationDefaults(configuration: MutatingWebhookConfiguration): void {
  for (const webhook of configuration.webhooks ?? []) {
    setWebhookDefaults(webhook);
    webhook.reinvocationPolicy ??= 'Never';
  }
}

function setMatchDefaults(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  for (const rule of [...(match.resourceRules ?? []), ...(match.excludeResourceRules ?? [])]) rule.scope ??= '*';
}

export function setValidatingAdmissionPolicyDefaults(policy: ValidatingAdmissionPolicy): void {
  if (policy.spec === undefined) return;
  policy.spec.failurePolicy ??= 'Fail';
  setMatchDefaults(policy.spec.matchConstraints);
}

export function setMutatingAdmissionPolicyDefaults(policy: MutatingAdmissionPolicy): void {
  if (policy.spec === undefined) return;
  policy.spec.failurePolicy ??= 'Fail';
  setMatchDefaults(policy.spec.matchConstraints);
}

/** Sets the defaults of a binding of either policy. */
export function setAdmissionPolicyBindingDefaults(
  binding: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding,
): void {
  setMatchDefaults(binding.spec?.matchResources);
}
