/**
 * The service account of a chart and its binding to `cluster-admin`, as k3s creates them, since charts may create any
 * object. For releases by this process the binding exists only while helm runs.
 */
import { ClusterRoleBindings, ServiceAccounts } from '../../api/gen/resources.ts';
import type { ClusterRoleBinding } from '../../api/gen/rbac-v1.ts';
import { deepEqual } from '../../base/equal.ts';
import { ignoreAlreadyExists, ignoreNotFound } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { accountName, bindingName, CHART_LABEL } from './chart-names.ts';
import { ChartProblem } from './chart-source.ts';

interface ChartKey {
  readonly name: string;
  readonly namespace: string;
}

/** Idempotent. @throws ChartProblem when the binding's name is another chart's */
export async function ensureAccount(client: Client, chart: ChartKey, signal: AbortSignal): Promise<void> {
  const { name, namespace } = chart;
  const labels = { [CHART_LABEL]: name };
  const account = { metadata: { name: accountName(name), namespace, labels } };
  await client
    .resource(ServiceAccounts)
    .create({ apiVersion: 'v1', kind: 'ServiceAccount', ...account }, { signal })
    .catch(ignoreAlreadyExists);
  const wanted = binding(chart);
  const bindings = client.resource(ClusterRoleBindings);
  const made = await bindings.create(wanted, { signal }).catch(ignoreAlreadyExists);
  if (made !== undefined) return;
  const { subjects, roleRef } = await bindings.get({ name: bindingName(namespace, name) }, { signal });
  if (!deepEqual([subjects, roleRef], [wanted.subjects, wanted.roleRef]))
    throw new ChartProblem(`the ClusterRoleBinding ${wanted.metadata.name} is there already and is another's`);
}

export async function removeBinding(
  client: Client,
  { name, namespace }: ChartKey,
  signal?: AbortSignal,
): Promise<void> {
  const key = { name: bindingName(namespace, name) };
  const bindings = client.resource(ClusterRoleBindings);
  const clusterRoleBinding = await bindings.get(key, { signal }).catch(ignoreNotFound);
  if (
    clusterRoleBinding === undefined ||
    !deepEqual(clusterRoleBinding.subjects, binding({ name, namespace }).subjects)
  )
    return;
  const preconditions = { uid: clusterRoleBinding.metadata.uid };
  await bindings.delete(key, { preconditions, signal }).catch(ignoreNotFound);
}

/** Charts whose accounts have rights now, by the existing bindings. */
export async function boundCharts(client: Client, signal: AbortSignal): Promise<readonly ChartKey[]> {
  const { items } = await client.resource(ClusterRoleBindings).list({ labelSelector: CHART_LABEL, signal });
  return items.flatMap(({ metadata, subjects }) => {
    const name = metadata.labels?.[CHART_LABEL] ?? '';
    const namespace = subjects?.[0]?.namespace ?? '';
    return metadata.name === bindingName(namespace, name) ? [{ name, namespace }] : [];
  });
}

export async function removeAccount(client: Client, { name, namespace }: ChartKey, signal: AbortSignal): Promise<void> {
  const key = { name: accountName(name), namespace };
  const accounts = client.resource(ServiceAccounts);
  const serviceAccount = await accounts.get(key, { signal }).catch(ignoreNotFound);
  if (serviceAccount?.metadata.labels?.[CHART_LABEL] === name)
    await accounts.delete(key, { signal }).catch(ignoreNotFound);
}

function binding({ name, namespace }: ChartKey): ClusterRoleBinding {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: bindingName(namespace, name), labels: { [CHART_LABEL]: name } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: accountName(name), namespace }],
  };
}
