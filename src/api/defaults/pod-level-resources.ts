/**
 * Defaults of pod-level requests and limits, computed from those of the containers. Upstream: defaultPodRequests,
 * defaultHugePagePodLimits.
 */
import type { PodSpec } from '../gen/core-v1.ts';
import { podAmounts } from '../pod-amounts.ts';

/** Pod-level resources whose requests default to the sum of the containers' requests. Hugepages cannot be overcommitted. */
const OVERCOMMITTED = ['cpu', 'memory'];
const HUGEPAGES = 'hugepages-';

/** Fills absent values when the pod sets some pod-level resources. */
export function setPodLevelResources(spec: PodSpec): void {
  const { resources } = spec;
  if (resources === undefined) return;
  const hasAny = [resources.limits, resources.requests].some((list) => Object.keys(list ?? {}).length > 0);
  if (hasAny) setHugepageLimits(spec, resources);
  const limits = resources.limits ?? {};
  if (Object.keys(limits).length === 0) return;
  const requests = podAmounts(spec, 'requests', (name) => OVERCOMMITTED.includes(name));
  const added: Record<string, string> = {};
  for (const name of OVERCOMMITTED) {
    if (resources.requests?.[name] !== undefined) continue;
    const total = requests.get(name) ?? limits[name];
    if (total !== undefined) added[name] = total;
  }
  for (const [name, limit] of Object.entries(limits))
    if (isHugepages(name) && resources.requests?.[name] === undefined) added[name] = limit;
  if (Object.keys(added).length > 0) resources.requests = { ...resources.requests, ...added };
}

function isHugepages(name: string): boolean {
  return name.startsWith(HUGEPAGES);
}

function setHugepageLimits(spec: PodSpec, resources: NonNullable<PodSpec['resources']>): void {
  const { limits, requests } = resources;
  const isAbsent = (name: string): boolean => limits?.[name] === undefined && requests?.[name] === undefined;
  const added = podAmounts(spec, 'limits', (name) => isHugepages(name) && isAbsent(name));
  if (added.size > 0) resources.limits = { ...limits, ...Object.fromEntries(added) };
}
