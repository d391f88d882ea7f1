/** Causes of a refused request from the API server's record of the plugin, webhook, quota or policy, with their cures. */
import {
  allResources,
  MutatingWebhookConfigurations,
  PodDisruptionBudgets,
  ValidatingWebhookConfigurations,
} from '../../api/gen/resources.ts';
import type { ObjectKey } from '../../client/client.ts';
import type { FaultDetail, Refuser, RefusingWebhook } from '../../component-helpers/refused-request.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure, type ObjectName } from '../explanation.ts';
import { inNamespace, nameOf } from '../object-name.ts';
import { backendCauses } from './webhook-backend.ts';

interface KnownFault {
  readonly code: string;
  readonly message: (fault: ObjectName) => string;
  readonly cure: (fault: ObjectName) => Cure;
}

/** Causes by the resource of the object that made the server refuse the request. */
const faults: Readonly<Record<string, KnownFault>> = {
  resourcequotas: {
    code: 'QuotaUsedUp',
    message: ({ name }) => `resource quota ${name} has no room for it`,
    cure: (fault) => ({
      text: 'raise the quota, or end what uses it',
      command: `kubectl describe resourcequota ${fault.name}${inNamespace(fault)}`,
    }),
  },
  limitranges: {
    code: 'LimitRangeForbids',
    message: ({ name }) => `limit range ${name} does not allow its requests and limits`,
    cure: (fault) => ({
      text: 'change the requests and limits as the message says, or the limit range',
      command: `kubectl describe limitrange ${fault.name}${inNamespace(fault)}`,
    }),
  },
  serviceaccounts: {
    code: 'ServiceAccountMissing',
    message: ({ name }) => `service account ${name}, under which it is to run, does not exist`,
    cure: (fault) => ({
      text: `create service account ${fault.name}`,
      command: `kubectl create serviceaccount ${fault.name}${inNamespace(fault)}`,
    }),
  },
  validatingadmissionpolicies: policyFault('validatingadmissionpolicy'),
  mutatingadmissionpolicies: policyFault('mutatingadmissionpolicy'),
  poddisruptionbudgets: {
    code: 'BudgetForbids',
    message: ({ name }) => `disruption budget ${name} allows no eviction now`,
    cure: (fault) => ({
      text: 'wait until more pods are healthy, or change the budget',
      command: `keelson why poddisruptionbudget/${fault.name}${inNamespace(fault)}`,
    }),
  },
};

function policyFault(kind: string): KnownFault {
  return {
    code: 'PolicyForbids',
    message: ({ name }) => `admission policy ${name} forbids it`,
    cure: ({ name }) => ({
      text: 'change the object as the message says, or the policy',
      command: `kubectl get ${kind} ${name} -o yaml`,
    }),
  };
}

/** Causes by the recorded fault of the object. */
const details: Readonly<Record<FaultDetail, KnownFault>> = {
  unsaid: {
    code: 'QuotaNeedsValues',
    message: ({ name }) => `resource quota ${name} measures what it does not say: every container has to`,
    cure: (fault) => ({
      text: 'give every container the requests and limits that the message names, or set defaults by a limit range',
      command: `kubectl describe resourcequota ${fault.name}${inNamespace(fault)}`,
    }),
  },
  uncounted: {
    code: 'QuotaNotCounted',
    message: ({ name }) => `what is used of resource quota ${name} has not been counted yet`,
    cure: () => ({ text: 'try again; if it stays so, see whether the controller manager runs' }),
  },
  missing: {
    code: 'NamespaceMissing',
    message: ({ name }) => `namespace ${name} does not exist`,
    cure: ({ name }) => ({
      text: 'create the namespace, or use another',
      command: `kubectl create namespace ${name}`,
    }),
  },
};

/** Refusals that plugins base on the namespace. */
const namespaceFaults: Readonly<Record<string, KnownFault>> = {
  PodSecurity: {
    code: 'PodSecurityForbids',
    message: ({ name }) => `namespace ${name} enforces a pod security level that forbids it`,
    cure: ({ name }) => ({
      text: 'change the pod as the message says, or the label pod-security.kubernetes.io/enforce of the namespace',
      command: `kubectl get namespace ${name} --show-labels`,
    }),
  },
  NamespaceLifecycle: {
    code: 'NamespaceTerminating',
    message: ({ name }) => `namespace ${name} is being deleted: nothing new is created in it`,
    cure: ({ name }) => ({
      text: 'use another namespace, or see what keeps this one, and create it again when it is gone',
      command: `keelson why namespace/${name}`,
    }),
  },
};

/** No causes when only the message is known. */
export async function refuserCauses(
  { plugin = '', webhook, fault }: Refuser,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  if (webhook !== undefined) return [await webhookCause(webhook, evidence)];
  if (fault !== undefined) return [await faultCause(plugin, fault, evidence)];
  if (plugin === '') return [];
  return [
    cause({
      code: 'AdmissionRefuses',
      object: { kind: 'admissionplugin', name: plugin },
      message: `admission plugin ${plugin} refuses it`,
      cure: { text: 'change the object as the message says' },
    }),
  ];
}

async function faultCause(plugin: string, fault: NonNullable<Refuser['fault']>, evidence: Evidence): Promise<Cause> {
  const { group, resource, namespace, name, detail } = fault;
  const info = allResources.find((one) => one.group === group && one.resource === resource);
  const object = info === undefined ? { kind: resource, namespace, name } : nameOf(info, { namespace, name });
  const knownFault =
    detail !== undefined ? details[detail] : resource === 'namespaces' ? namespaceFaults[plugin] : faults[resource];
  if (knownFault === undefined) {
    const message = `admission plugin ${plugin} refuses it on account of ${resource} ${name}`;
    return cause({ code: 'AdmissionRefuses', object, message });
  }
  const { code, message, cure } = knownFault;
  const because = resource === 'poddisruptionbudgets' ? await budgetCauses({ namespace, name }, evidence) : [];
  return cause({ code, object, message: message(object), cure: cure(object), because });
}

/** The causes why a disruption budget allows no eviction. */
async function budgetCauses(key: ObjectKey, evidence: Evidence): Promise<readonly Cause[]> {
  const { object } = await evidence.get(PodDisruptionBudgets, key);
  return object === undefined ? [] : evidence.causesOf(PodDisruptionBudgets, object);
}

async function webhookCause(
  { configuration, name, mutating, failure }: RefusingWebhook,
  evidence: Evidence,
): Promise<Cause> {
  const info = mutating ? MutatingWebhookConfigurations : ValidatingWebhookConfigurations;
  const object = nameOf(info, { name: configuration });
  if (failure === undefined) {
    const message = `webhook ${name} of ${object.kind} ${configuration} denies it`;
    return cause({ code: 'WebhookDenies', object, message, cure: { text: 'change the object as the message says' } });
  }
  const { object: found } = await evidence.get(info, { name: configuration });
  const hook = found?.webhooks?.find((one) => one.name === name);
  return cause({
    code: 'WebhookFails',
    object,
    message: `webhook ${name} of ${object.kind} ${configuration} gives no answer, and nothing passes without one`,
    facts: [failure],
    cure: {
      text: 'mend what serves it; with failurePolicy: Ignore requests pass without it meanwhile',
      command: `kubectl edit ${object.kind.split('.')[0]} ${configuration}`,
    },
    because: await backendCauses(hook?.clientConfig?.service, evidence),
  });
}
