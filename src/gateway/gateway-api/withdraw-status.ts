/**
 * Removes this controller's entries from the status of Gateways, routes and policies that it no longer serves, and restores the
 * defaults of their definitions. Entries of other controllers stay.
 */
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { deepEqual } from '../../base/equal.ts';
import { appendAll } from '../../base/lists.ts';
import type { Client } from '../../client/client.ts';
import { GATEWAY_CONTROLLER } from '../../component-helpers/gateway-class.ts';
import { stampConditions, type NewCondition } from './conditions.ts';
import { settleFewAtATime } from './settle-few.ts';
import { policyAncestors, routeParents } from './status-objects.ts';
import {
  BackendTlsPolicies,
  GatewayClasses,
  Gateways,
  GrpcRoutes,
  HttpRoutes,
  TlsRoutes,
  type Condition,
  type GatewayRoute,
} from './types.ts';

export interface WithdrawDeps {
  readonly client: Client;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

type Write = () => Promise<void>;

/** Kinds that the cluster does not define are skipped. Tries all writes, then rejects with the first failure. */
export async function withdrawGatewayStatus(deps: WithdrawDeps): Promise<void> {
  const time = formatTime(deps.nowMs);
  const writes: Write[] = [];
  const classes = (await listed(deps, GatewayClasses)).filter(({ spec }) => spec.controllerName === GATEWAY_CONTROLLER);
  for (const gatewayClass of classes) {
    if (!isAnswered(gatewayClass.status?.conditions)) continue;
    const conditions = defaultConditions(gatewayClass, ['Accepted'], time);
    writes.push(() => patchStatus(deps, GatewayClasses, gatewayClass, { conditions, supportedFeatures: null }));
  }
  const names = new Set(classes.map(({ metadata }) => metadata.name));
  for (const gateway of await listed(deps, Gateways)) {
    const { conditions: before, addresses = [], listeners = [] } = gateway.status ?? {};
    if (!names.has(gateway.spec.gatewayClassName)) continue;
    if (!isAnswered(before) && addresses.length + listeners.length === 0) continue;
    const conditions = defaultConditions(gateway, ['Accepted', 'Programmed'], time);
    writes.push(() => patchStatus(deps, Gateways, gateway, { conditions, addresses: null, listeners: null }));
  }
  appendAll(writes, await parentsWithdrawn(deps, HttpRoutes, time));
  appendAll(writes, await parentsWithdrawn(deps, GrpcRoutes, time));
  appendAll(writes, await parentsWithdrawn(deps, TlsRoutes, time));
  for (const policy of await listed(deps, BackendTlsPolicies)) {
    const ancestors = policyAncestors(policy, undefined, time);
    if (!deepEqual(ancestors, policy.status?.ancestors ?? []))
      writes.push(() => patchStatus(deps, BackendTlsPolicies, policy, { ancestors }));
  }
  const failed = await settleFewAtATime(writes, () => undefined);
  if (failed !== undefined) throw failed.error;
}

async function parentsWithdrawn<T extends GatewayRoute>(
  deps: WithdrawDeps,
  info: ResourceInfo<T>,
  time: string,
): Promise<Write[]> {
  const writes: Write[] = [];
  for (const route of await listed(deps, info)) {
    const parents = routeParents(route, undefined, time);
    if (!deepEqual(parents, route.status?.parents ?? []))
      writes.push(() => patchStatus(deps, info, route, { parents }));
  }
  return writes;
}

/** Whether a controller has written conditions. */
function isAnswered(conditions: readonly Condition[] = []): boolean {
  return conditions.some(({ status }) => status !== 'Unknown');
}

/** The default conditions. Upstream: the defaults of the definitions. */
function defaultConditions(
  { metadata, status }: KubernetesObject & { readonly status?: { readonly conditions?: readonly Condition[] } },
  types: readonly string[],
  time: string,
): Condition[] {
  const wanted = types.map((type): NewCondition => ({
    type,
    status: 'Unknown',
    reason: 'Pending',
    message: 'Waiting for controller',
  }));
  return stampConditions(wanted, status?.conditions, { generation: Number(metadata.generation ?? 0), time });
}

async function listed<T extends KubernetesObject>(
  { client, signal }: WithdrawDeps,
  info: ResourceInfo<T>,
): Promise<readonly Stored<T>[]> {
  try {
    return (await client.resource(info).list({ signal })).items;
  } catch (error) {
    if (isReason(error, 'NotFound')) return [];
    throw error;
  }
}

async function patchStatus<T extends KubernetesObject>(
  { client, signal }: WithdrawDeps,
  info: ResourceInfo<T>,
  { metadata: { namespace, name, resourceVersion } }: Stored<T>,
  status: object,
): Promise<void> {
  const key = namespace === undefined ? { name } : { namespace, name };
  const patch = { metadata: { resourceVersion }, status };
  try {
    await client.resource(info).patch(key, { type: 'merge', patch }, { subresource: 'status', signal });
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
  }
}
