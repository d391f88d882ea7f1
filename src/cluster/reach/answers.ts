/** Computes the server's answers about which pods may reach which; loaded with the first request. */
import type { NetworkPolicy } from '../../api/gen/networking-v1.ts';
import { Namespaces, NetworkPolicies, Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { Reach, ReachCell, ReachTable } from '../../api/reach.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { badRequest } from '../../api/status-error.ts';
import { stepByStep } from '../../base/steps.ts';
import { appendAll } from '../../base/lists.ts';
import type { ListOptions, ObjectKey } from '../../client/client.ts';
import { readForReach, type ReadPolicy } from '../../proxy/network-policy/policy-reach.ts';
import type { AnswerTools } from '../why/caller-answers.ts';
import { endpointOf, reachBetween, type ReachContext } from './reach.ts';
import { mentionsOf, ReachTableMaker } from './reach-table.ts';

/** The reason with which the signal aborts when time is up. */
export class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';

  constructor(ms: number) {
    super(`who reaches whom was not known after ${ms / 1000} s: ask for fewer pods`);
  }
}

type PodKey = Required<ObjectKey>;

export interface ReachAnswer extends Reach {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'Reach';
  readonly from: PodKey;
  readonly to: PodKey;
}

const MAX_GROUPS = 60;
const PAGE_SIZE = 500;
const MAX_READ = 5000;

/** Rejects with 404 when a pod does not exist, and with the server's error when the caller may not read something. */
export async function reachOf({ from, to }: { from: PodKey; to: PodKey }, tools: AnswerTools): Promise<ReachAnswer> {
  const { client, signal } = tools;
  const pods = client.resource(Pods);
  const [sender, receiver] = await Promise.all([pods.get(from, { signal }), pods.get(to, { signal })]);
  const world = await worldOf(new Set([from.namespace, to.namespace]), tools);
  const answer = reachBetween(endpointOf(sender), endpointOf(receiver), world);
  return { apiVersion: 'keelson/v1', kind: 'Reach', from, to, ...answer };
}

export async function reachTableOf(
  { namespace, ...selectors }: Pick<ListOptions, 'labelSelector' | 'fieldSelector'> & { namespace: string },
  tools: AnswerTools,
): Promise<ReachTable> {
  const where = namespace === '' ? {} : { namespace };
  const { items: pods, rest } = await readAll(Pods, { ...where, ...selectors }, tools);
  const namespaces = new Set(pods.map(({ metadata }) => metadata.namespace));
  const world = await worldOf(namespaces, tools, namespace === '');
  const maker = new ReachTableMaker(pods, world, mentionsOf(world, namespaces));
  const groups = maker.groups.slice(0, MAX_GROUPS);
  const cells: ReachCell[] = [];
  for (const from of groups.keys()) {
    const row = await stepByStep(maker.rowSteps(from, groups.length), async () => {
      await tools.pause();
      tools.signal.throwIfAborted();
    });
    appendAll(cells, row);
    await tools.pause();
    tools.signal.throwIfAborted();
  }
  return {
    apiVersion: 'keelson/v1',
    kind: 'ReachTable',
    groups,
    cells,
    groupsNotShown: maker.groups.length - groups.length,
    podsNotRead: rest,
    hostNetworkPods: maker.hostNetworkPods,
  };
}

/** The network policies and labels of namespaces. `all`: of every namespace in one request. */
async function worldOf(namespaces: ReadonlySet<string>, tools: AnswerTools, all = false): Promise<ReachContext> {
  const { client, signal } = tools;
  const policies = new Map<string, ReadPolicy[]>();
  const labels = new Map<string, Readonly<Record<string, string>>>();
  const take = (networkPolicies: readonly Stored<NetworkPolicy>[]): void => {
    for (const policy of networkPolicies) {
      const { namespace } = policy.metadata;
      const readPolicies = policies.get(namespace) ?? [];
      policies.set(namespace, readPolicies);
      readPolicies.push(readForReach(policy));
    }
  };
  if (all) {
    take(await readEvery(NetworkPolicies, {}, tools));
    for (const { metadata } of await readEvery(Namespaces, {}, tools)) labels.set(metadata.name, metadata.labels ?? {});
  } else
    await Promise.all(
      [...namespaces].map(async (namespace) => {
        const { metadata } = await client.resource(Namespaces).get({ name: namespace }, { signal });
        labels.set(namespace, metadata.labels ?? {});
        take(await readEvery(NetworkPolicies, { namespace }, tools));
      }),
    );
  return { policiesOf: (namespace) => policies.get(namespace) ?? [], labelsOf: (namespace) => labels.get(namespace) };
}

/** Reads the complete list, since an answer from a part of it would be wrong. Rejects with 400 when it is too long. */
async function readEvery<T extends KubernetesObject>(
  info: ResourceInfo<T>,
  options: ListOptions,
  tools: AnswerTools,
): Promise<readonly Stored<T>[]> {
  const { items, rest } = await readAll(info, options, tools);
  if (rest > 0) throw badRequest(`there are more than ${items.length} ${info.resource}: ask for pods of one namespace`);
  return items;
}

async function readAll<T extends KubernetesObject>(
  info: ResourceInfo<T>,
  options: ListOptions,
  { client, signal, pause }: AnswerTools,
): Promise<{ readonly items: readonly Stored<T>[]; readonly rest: number }> {
  const read: Stored<T>[] = [];
  let next = '';
  do {
    const { items, metadata } = await client
      .resource(info)
      .list({ ...options, limit: PAGE_SIZE, continue: next, signal });
    appendAll(read, items);
    next = metadata.continue ?? '';
    if (next !== '' && read.length >= MAX_READ) return { items: read, rest: Number(metadata.remainingItemCount ?? 1) };
    await pause();
  } while (next !== '');
  return { items: read, rest: 0 };
}
