/** Explains why a controller cannot create pods: the API server's refusal, and the object that causes it. */
import { Namespaces, ServiceAccounts } from '../../api/gen/resources.ts';
import type { PodTemplateSpec } from '../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { formatTime } from '../../api/time.ts';
import type { RefusedRequestList } from '../../component-helpers/refused-request.ts';
import { conditionOf } from '../conditions.ts';
import { timeOfEvent, type Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { inNamespace, nameOf, nameOfObject } from '../object-name.ts';
import { quotaCauses } from './quotas.ts';
import { refuserCauses } from '../requests/refuser-causes.ts';

/** The cause of an older refusal may have been removed. */
const RECENT_MS = 15 * 60_000;

/** The last refusal that the controller received, with its causes; empty when all pods have been created. */
export async function refusedPodCauses(
  info: ResourceInfo,
  owner: KubernetesObject,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const condition = conditionOf(owner, 'ReplicaFailure');
  const event = (await evidence.events(owner)).find(({ reason }) => reason === 'FailedCreate');
  const eventMs = event === undefined ? 0 : timeOfEvent(event);
  const isRefused = condition?.status === 'True' || evidence.nowMs - eventMs < RECENT_MS;
  const message = condition?.status === 'True' ? condition.message : event?.message;
  if (!isRefused || message === undefined) return [];
  const since = condition?.lastTransitionTime ?? (eventMs === 0 ? undefined : formatTime(eventMs));
  return [
    cause({
      code: 'PodsRefused',
      object: nameOfObject(info, owner),
      message: 'the API server refuses the pods it creates',
      since: since ?? undefined,
      facts: [message],
      because: (await rememberedCauses(info, owner, evidence)) ?? (await reasonsToRefuse(owner, evidence)),
    }),
  ];
}

/** Causes from the API server's record of the last refusal; undefined when it has none. */
async function rememberedCauses(
  info: ResourceInfo,
  { metadata }: KubernetesObject,
  evidence: Evidence,
): Promise<readonly Cause[] | undefined> {
  const { namespace = '', name = '' } = metadata;
  const refusedRequestList = await evidence.view<RefusedRequestList>('refusals', info, { namespace, name });
  const [last] = refusedRequestList?.items ?? [];
  return last === undefined ? undefined : refuserCauses(last.refusedBy, evidence);
}

/** On servers without records: objects that would make any server refuse the pod. */
async function reasonsToRefuse(owner: KubernetesObject, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '' } = owner.metadata;
  const template = (owner as { spec?: { template?: PodTemplateSpec } }).spec?.template;
  return [
    ...(await namespaceCauses(namespace, evidence)),
    ...(await accountCauses(namespace, template, evidence)),
    ...(template === undefined ? [] : await quotaCauses(namespace, template, evidence)),
  ];
}

async function namespaceCauses(namespace: string, evidence: Evidence): Promise<readonly Cause[]> {
  const { object } = await evidence.get(Namespaces, { name: namespace });
  if (object?.metadata.deletionTimestamp === undefined) return [];
  return [
    cause({
      code: 'NamespaceTerminating',
      object: nameOfObject(Namespaces, object),
      message: `namespace ${namespace} is being deleted: nothing new is created in it`,
      since: object.metadata.deletionTimestamp,
    }),
  ];
}

async function accountCauses(
  namespace: string,
  template: PodTemplateSpec | undefined,
  evidence: Evidence,
): Promise<readonly Cause[]> {
  const name = template?.spec?.serviceAccountName ?? 'default';
  const { missing } = await evidence.get(ServiceAccounts, { namespace, name });
  if (!missing) return [];
  const object = nameOf(ServiceAccounts, { namespace, name });
  return [
    cause({
      code: 'ServiceAccountMissing',
      object,
      message: `service account ${name}, under which the pods are to run, does not exist`,
      cure: {
        text: `create service account ${name}`,
        command: `kubectl create serviceaccount ${name}${inNamespace(object)}`,
      },
    }),
  ];
}
