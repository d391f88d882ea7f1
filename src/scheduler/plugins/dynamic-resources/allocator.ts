/**
 * Finds devices for claims on one node: tries devices in pool order and backtracks when a later request cannot be
 * satisfied. Pure. A device that allows multiple allocations is allocated in shares of its capacity. Upstream:
 * dynamic-resource-allocation/structured.
 */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, DeviceTaint } from '../../../api/gen/resource-v1.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { Stored } from '../../../api/object.ts';
import { toleratesDeviceTaint } from '../../../component-helpers/resource-claims.ts';
import { type RequestAlternative, type WantedClaim } from './claim-requests.ts';
import {
  changedShares,
  consumptionOf,
  hasCapacityLeft,
  type Amounts,
  type Shares,
} from '../../devices/consumed-capacity.ts';
import { counterUse, reachableDevices, type NodeDevices, type PoolDevice } from '../../devices/device-pools.ts';
import { ConstraintTallies } from './constraint-tallies.ts';
import { SearchBudget } from './search-budget.ts';
import { type Assignment, isAdmins, isShared, resultOf } from './allocation-result.ts';

/** Upstream's limit of devices of one claim. */
const MAX_DEVICES = 32;

export interface AllocationInput {
  readonly node: Stored<Node>;
  readonly pools: NodeDevices;
  /** Keys of devices that are in use. */
  readonly inUse: ReadonlySet<string>;
  /** The consumption of shared devices. Default: none. */
  readonly shares?: Shares;
  readonly claims: readonly WantedClaim[];
  /** Shared with the searches on other nodes. Default: a new one. */
  readonly budget?: SearchBudget;
}

interface Search extends Omit<AllocationInput, 'shares'> {
  readonly reachable: readonly PoolDevice[];
  readonly assigned: Assignment[];
  readonly taken: Set<string>;
  readonly used: Map<string, number>;
  readonly shares: Map<string, Amounts>;
  readonly initialShares: Shares;
  readonly requests: readonly { readonly claim: WantedClaim; readonly alternatives: readonly RequestAlternative[] }[];
  readonly tallies: ReadonlyMap<WantedClaim, ConstraintTallies>;
  readonly budget: SearchBudget;
}

/** An allocation for each claim, in order; undefined: there is none. Throws errors of selectors and of the budget. */
export function allocateClaims(input: AllocationInput): readonly AllocationResult[] | undefined {
  const used = new Map<string, number>();
  for (const device of input.pools.devices)
    if (input.inUse.has(device.key) || input.shares?.has(device.key) === true)
      for (const [key, amount] of counterUse(device)) used.set(key, (used.get(key) ?? 0) + amount);
  const search: Search = {
    ...input,
    used,
    shares: new Map(input.shares),
    initialShares: input.shares ?? new Map(),
    reachable: reachableDevices(input.node, input.pools),
    assigned: [],
    taken: new Set(),
    requests: input.claims.flatMap((claim) => claim.requests.map((alternatives) => ({ claim, alternatives }))),
    tallies: new Map(input.claims.map((claim) => [claim, new ConstraintTallies(claim.constraints)])),
    budget: input.budget ?? new SearchBudget(),
  };
  search.budget.nextNode();
  if (!allocateOne(search, 0)) return undefined;
  return input.claims.map((claim) => resultOf(claim, search.assigned, input.node));
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
  const { verdicts, subRequest, deviceClass } = assigned.alternative;
  const { device } = assigned.found;
  let verdict = verdicts.get(device);
  if (verdict === undefined) {
    budget.evaluate((subRequest.selectors?.length ?? 0) + (deviceClass.spec.selectors?.length ?? 0));
    verdicts.set(device, (verdict = isWanted(assigned)));
  }
  return verdict;
}

/** Whether the request's selectors and the device's class select the device. */
function isWanted({ alternative: { subRequest, selects }, found: { driver, device } }: Assignment): boolean {
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
  return enough && selects(driver, device);
}

/** Allocates the device, or a share of it, if it is free, its pool's counters suffice and every constraint holds. */
function allocateDevice(search: Search, wanted: Assignment): boolean {
  const { claim, alternative, found } = wanted;
  const tallies = search.tallies.get(claim)!;
  if (tallies.devices >= MAX_DEVICES) return false;
  if (!isAdmins(wanted) && (search.inUse.has(found.key) || search.taken.has(found.key))) return false;
  const assigned = isShared(wanted) ? withShare(search, wanted) : wanted;
  if (assigned === undefined) return false;
  if (assigned.consumed === undefined) {
    if (search.assigned.some((other) => other.claim === claim && other.found === found)) return false;
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
  if (assigned.consumed !== undefined)
    search.shares.set(found.key, changedShares(search.shares.get(found.key), assigned.consumed, 1));
  else if (!isAdmins(assigned)) search.taken.add(found.key);
  tallies.add(alternative.constraints, found);
  search.assigned.push(assigned);
  return true;
}

function withShare(search: Search, assigned: Assignment): Assignment | undefined {
  const { alternative, found } = assigned;
  const consumed = consumptionOf(found.driver, found.device, alternative.subRequest.capacity?.requests ?? {});
  if (consumed === undefined || !hasCapacityLeft(found.device, search.shares.get(found.key), consumed))
    return undefined;
  return { ...assigned, consumed };
}

/** The device's use of its pool's counters. It counts once, however many claims share the device. */
function countersNeeded(search: Search, assigned: Assignment): [string, number][] {
  if (isAdmins(assigned) || search.shares.has(assigned.found.key)) return [];
  return counterUse(assigned.found);
}

function deallocateDevice(search: Search): void {
  const assigned = search.assigned.pop()!;
  const { found, consumed } = assigned;
  search.tallies.get(assigned.claim)!.remove(assigned.alternative.constraints, found);
  if (isAdmins(assigned)) return;
  search.taken.delete(found.key);
  if (consumed !== undefined) {
    const isLast =
      !search.initialShares.has(found.key) &&
      !search.assigned.some((other) => other.found === found && other.consumed !== undefined);
    if (isLast) search.shares.delete(found.key);
    else search.shares.set(found.key, changedShares(search.shares.get(found.key), consumed, -1));
    if (!isLast) return;
  }
  for (const [key, amount] of counterUse(found)) search.used.set(key, (search.used.get(key) ?? 0) - amount);
}
