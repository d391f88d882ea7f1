/**
 * Finds devices for claims on one node: tries devices in pool order and backtracks when a later request cannot be
 * satisfied. Pure. A device that allows multiple allocations is allocated in shares of its capacity. Upstream:
 * dynamic-resource-allocation/structured.
 */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, DeviceTaint } from '../../../api/gen/resource-v1.ts';
import { getOrMake } from '../../../base/get-or-make.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { Stored } from '../../../api/object.ts';
import { toleratesDeviceTaint } from '../../../component-helpers/resource-claims.ts';
import type { RequestAlternative, Verdict, WantedClaim } from './claim-requests.ts';
import { type Amounts, consumptionOf, hasCapacityLeft } from '../../devices/consumed-capacity.ts';
import {
  counterUse,
  reachableDevices,
  usedCounters,
  type NodeDevices,
  type PoolDevice,
} from '../../devices/device-pools.ts';
import type { UsedDevices } from '../../devices/device-use.ts';
import { ConstraintTallies } from './constraint-tallies.ts';
import { SearchBudget, SearchTimedOut, SearchUnfinished } from './search-budget.ts';
import { SearchShares } from './search-shares.ts';
import { type Assignment, isAdmins, isShared, resultOf } from './allocation-result.ts';

/** Upstream's limit of devices of one claim. */
const MAX_DEVICES = 32;
/** Devices of all claims of a pod: the search goes one level deeper for each. Upstream has no limit. */
const MAX_DEVICES_OF_POD = 2_000;
/** Devices whose verdict is known that cost a step together. */
const DEVICES_PER_STEP = 8;
/** Work of examining a device without its selectors. */
const DEVICE_WORK = 12;
const NO_SHARES: UsedDevices['shares'] = new Map<string, Amounts>();

export interface AllocationInput {
  readonly node: Stored<Node>;
  readonly pools: NodeDevices;
  readonly inUse: UsedDevices['inUse'];
  /** Default: none. */
  readonly shares?: UsedDevices['shares'];
  readonly claims: readonly WantedClaim[];
  /** Shared with the searches on other nodes. Default: a new one. */
  readonly budget?: SearchBudget;
}

interface Search extends Omit<AllocationInput, 'shares'> {
  readonly reachable: readonly PoolDevice[];
  readonly assigned: Assignment[];
  /** At most 32 of each claim. */
  readonly byClaim: ReadonlyMap<WantedClaim, Assignment[]>;
  readonly taken: Set<string>;
  readonly used: Map<string, number>;
  readonly shares: SearchShares;
  readonly requests: readonly { readonly claim: WantedClaim; readonly alternatives: readonly RequestAlternative[] }[];
  readonly tallies: ReadonlyMap<WantedClaim, ConstraintTallies>;
  readonly budget: SearchBudget;
}

/** An allocation for each claim, in order; undefined: there is none. Throws errors of selectors and of the budget. */
export function allocateClaims(input: AllocationInput): readonly AllocationResult[] | undefined {
  const { node, pools, inUse, claims, shares = NO_SHARES } = input;
  const reachable = reachableDevices(node, pools);
  const search: Search = {
    ...input,
    used: usedCounters(reachable, pools, (key) => inUse.has(key) || shares.has(key)),
    shares: new SearchShares(shares),
    reachable,
    assigned: [],
    byClaim: new Map(claims.map((claim) => [claim, []])),
    taken: new Set(),
    requests: claims.flatMap((claim) => claim.requests.map((alternatives) => ({ claim, alternatives }))),
    tallies: new Map(claims.map((claim) => [claim, new ConstraintTallies(claim.constraints)])),
    budget: input.budget ?? new SearchBudget(),
  };
  search.budget.nextNode();
  if (!allocateOne(search, 0)) return undefined;
  return claims.map((claim) => resultOf(claim, search.byClaim.get(claim)!, node));
}

/** Allocates devices for the requests from index `at` on. */
function allocateOne(search: Search, at: number): boolean {
  const subRequest = search.requests[at];
  if (subRequest === undefined) return true;
  const { claim } = subRequest;
  for (const alternative of subRequest.alternatives) {
    if (!search.budget.maySpend(1)) return false;
    const next = (): boolean => allocateOne(search, at + 1);
    if (alternative.subRequest.allocationMode === 'All') {
      if (takeAll(search, { claim, alternative }, next)) return true;
    } else if (takeSome(search, { claim, alternative, left: Number(alternative.subRequest.count ?? 1), from: 0 }, next))
      return true;
  }
  return false;
}

function takeSome(
  search: Search,
  candidate: Pick<Assignment, 'claim' | 'alternative'> & { readonly left: number; readonly from: number },
  next: () => boolean,
): boolean {
  if (candidate.left === 0) return next();
  for (let at = candidate.from; at < search.reachable.length; at++) {
    if (!search.budget.maySpend(1)) return false;
    const assigned = { claim: candidate.claim, alternative: candidate.alternative, found: search.reachable[at]! };
    if (!isWantedHere(search, assigned) || !allocateDevice(search, assigned)) continue;
    const from = isShared(assigned) ? at : at + 1;
    if (takeSome(search, { ...candidate, left: candidate.left - 1, from }, next)) return true;
    deallocateDevice(search);
  }
  return false;
}

function takeAll(search: Search, candidate: Pick<Assignment, 'claim' | 'alternative'>, next: () => boolean): boolean {
  if (!search.budget.maySpend(Math.ceil(search.reachable.length / DEVICES_PER_STEP))) return false;
  const all = search.reachable
    .map((poolDevice) => ({ ...candidate, found: poolDevice }))
    .filter((assigned) => isWantedHere(search, assigned));
  let count = 0;
  while (count < all.length && allocateDevice(search, all[count]!)) count++;
  if (all.length > 0 && count === all.length && next()) return true;
  for (; count > 0; count--) deallocateDevice(search);
  return false;
}

/** `isWanted`, evaluated once for each device for all nodes: a selector is an expression written by a user. */
function isWantedHere({ budget }: Search, assigned: Assignment): boolean {
  const { verdicts } = assigned.alternative;
  const { device } = assigned.found;
  let verdict = verdicts.get(device);
  if (verdict === undefined) verdicts.set(device, (verdict = evaluate(assigned, budget)));
  if (verdict instanceof Error) throw verdict;
  return verdict;
}

function evaluate(assigned: Assignment, { spend }: SearchBudget): Verdict {
  spend(DEVICE_WORK);
  try {
    return isWanted(assigned, spend);
  } catch (error) {
    if (error instanceof SearchUnfinished || error instanceof SearchTimedOut || !(error instanceof Error)) throw error;
    return error;
  }
}

/** Whether the request's selectors and the device's class select the device. */
function isWanted(
  { alternative: { subRequest, selects }, found: { driver, device } }: Assignment,
  spend: SearchBudget['spend'],
): boolean {
  const intolerable = ({ effect }: DeviceTaint): boolean => effect === 'NoSchedule' || effect === 'NoExecute';
  if (
    (device.taints ?? []).some(
      (taint) =>
        intolerable(taint) && !(subRequest.tolerations ?? []).some((each) => toleratesDeviceTaint(each, taint)),
    )
  )
    return false;
  const enough = Object.entries(subRequest.capacity?.requests ?? {}).every(([name, amount]) => {
    const has = device.capacity?.[name] ?? device.capacity?.[name.replace(`${driver}/`, '')];
    return has !== undefined && compareQuantities(has.value, amount) >= 0;
  });
  return enough && selects(driver, device, spend);
}

/** Allocates the device, or a share of it, if it is free, its pool's counters suffice and every constraint holds. */
function allocateDevice(search: Search, wanted: Assignment): boolean {
  const { claim, alternative, found } = wanted;
  const tallies = search.tallies.get(claim)!;
  if (tallies.devices >= MAX_DEVICES || search.assigned.length >= MAX_DEVICES_OF_POD) return false;
  if (!isAdmins(wanted) && (search.inUse.has(found.key) || search.taken.has(found.key))) return false;
  const assigned = isShared(wanted) ? withShare(search, wanted) : wanted;
  if (assigned === undefined) return false;
  if (assigned.consumed === undefined) {
    if (search.byClaim.get(claim)!.some((other) => other.found === found)) return false;
    // A device that is already shared is not allocated exclusively.
    if (!isAdmins(assigned) && search.shares.has(found.key)) return false;
  }
  const needs = countersNeeded(search, assigned);
  if (needs.some(([key, amount]) => (search.used.get(key) ?? 0) + amount > (search.pools.counters.get(key) ?? 0)))
    return false;
  const compared = alternative.constraints.length;
  if (compared > 0 && !search.budget.maySpend(compared)) return false;
  if (!tallies.agree(alternative.constraints, found)) return false;
  for (const [key, amount] of needs) search.used.set(key, (search.used.get(key) ?? 0) + amount);
  if (assigned.consumed !== undefined) search.shares.add(found.key, assigned.consumed);
  else if (!isAdmins(assigned)) search.taken.add(found.key);
  tallies.add(alternative.constraints, found);
  search.assigned.push(assigned);
  search.byClaim.get(claim)!.push(assigned);
  return true;
}

function withShare(search: Search, assigned: Assignment): Assignment | undefined {
  const { alternative, found } = assigned;
  if (!search.budget.maySpend(Object.keys(found.device.capacity ?? {}).length)) return undefined;
  const { consumed } = getOrMake(alternative.consumptions, found.device, () => ({
    consumed: consumptionOf(found.driver, found.device, alternative.subRequest.capacity?.requests ?? {}),
  }));
  if (consumed === undefined || !hasCapacityLeft(found.device, search.shares.get(found.key), consumed))
    return undefined;
  return { ...assigned, consumed };
}

/** The device's use of its pool's counters. It counts once, however many claims share the device. */
function countersNeeded(search: Search, assigned: Assignment): ReturnType<typeof counterUse> {
  if (isAdmins(assigned) || search.shares.has(assigned.found.key)) return [];
  return counterUse(assigned.found);
}

function deallocateDevice(search: Search): void {
  const assigned = search.assigned.pop()!;
  const { found, consumed } = assigned;
  search.byClaim.get(assigned.claim)!.pop();
  search.tallies.get(assigned.claim)!.remove(assigned.alternative.constraints, found);
  if (isAdmins(assigned)) return;
  search.taken.delete(found.key);
  if (consumed !== undefined) {
    search.shares.remove(found.key);
    if (search.shares.has(found.key)) return;
  }
  for (const [key, amount] of counterUse(found)) search.used.set(key, (search.used.get(key) ?? 0) - amount);
}
