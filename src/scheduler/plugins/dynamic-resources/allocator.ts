/**
 * Finds devices for claims on one node: tries devices in the order of their pools and goes back when a later request cannot
 * be met. Pure. Upstream: dynamic-resource-allocation/structured. A device that may be allocated several times is given in
 * shares of its capacity.
 */
import type { Node } from '../../../api/gen/core-v1.ts';
import type { AllocationResult, DeviceRequestAllocationResult, DeviceTaint } from '../../../api/gen/resource-v1.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { Stored } from '../../../api/object.ts';
import { toleratesDeviceTaint } from '../../../component-helpers/resource-claims.ts';
import { configurationOf, type RequestAlternative, type WantedClaim } from './claim-requests.ts';
import { changedShares, consumptionOf, hasLeft, type Amounts, type Shares } from '../../devices/consumed-capacity.ts';
import {
  counterUse,
  reachableDevices,
  selectorOf,
  type NodeDevices,
  type PoolDevice,
} from '../../devices/device-pools.ts';
import { ConstraintTallies } from './constraint-tallies.ts';
import { SearchBudget } from './search-budget.ts';

/** Upstream's limit of devices of one claim. */
const MAX_DEVICES = 32;

/** What the search is given. */
export interface AllocationInput {
  readonly node: Stored<Node>;
  readonly pools: NodeDevices;
  /** Keys of devices that are in use. */
  readonly inUse: ReadonlySet<string>;
  /** What is taken of devices that are shared. Default: nothing. */
  readonly shares?: Shares;
  readonly claims: readonly WantedClaim[];
  /** Shared with the searches for other nodes. Default: one of its own. */
  readonly budget?: SearchBudget;
}

interface Given {
  readonly claim: WantedClaim;
  readonly alternative: RequestAlternative;
  readonly found: PoolDevice;
  /** Set for a share. */
  readonly consumed?: Amounts;
}

interface Search extends Omit<AllocationInput, 'shares'> {
  readonly reachable: readonly PoolDevice[];
  readonly given: Given[];
  readonly taken: Set<string>;
  readonly used: Map<string, number>;
  readonly shares: Map<string, Amounts>;
  readonly initialShares: Shares;
  readonly wishes: readonly { readonly claim: WantedClaim; readonly alternatives: readonly RequestAlternative[] }[];
  readonly tallies: ReadonlyMap<WantedClaim, ConstraintTallies>;
  readonly budget: SearchBudget;
}

/** An allocation for each claim, in order; undefined: there is none. Throws what a selector and the budget throw. */
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
    given: [],
    taken: new Set(),
    wishes: input.claims.flatMap((claim) => claim.requests.map((alternatives) => ({ claim, alternatives }))),
    tallies: new Map(input.claims.map((claim) => [claim, new ConstraintTallies(claim.constraints)])),
    budget: input.budget ?? new SearchBudget(),
  };
  search.budget.nextNode();
  if (!meet(search, 0)) return undefined;
  return input.claims.map((claim) => resultOf(claim, search.given, input.node));
}

/** Meets the wishes from `at` on. */
function meet(search: Search, at: number): boolean {
  const wish = search.wishes[at];
  if (wish === undefined) return true;
  const { claim } = wish;
  for (const alternative of wish.alternatives) {
    if (!search.budget.maySpend(1)) return false;
    const next = (): boolean => meet(search, at + 1);
    if (alternative.wish.allocationMode === 'All') {
      if (takeAll(search, { claim, alternative }, next)) return true;
    } else if (takeSome(search, { claim, alternative, left: Number(alternative.wish.count ?? 1), from: 0 }, next))
      return true;
  }
  return false;
}

function takeSome(
  search: Search,
  of: Pick<Given, 'claim' | 'alternative'> & { readonly left: number; readonly from: number },
  next: () => boolean,
): boolean {
  if (of.left === 0) return next();
  for (let at = of.from; at < search.reachable.length; at++) {
    if (!search.budget.maySpend(1)) return false;
    const given = { claim: of.claim, alternative: of.alternative, found: search.reachable[at]! };
    if (!isWantedHere(search, given) || !take(search, given)) continue;
    const from = isShared(given) ? at : at + 1;
    if (takeSome(search, { ...of, left: of.left - 1, from }, next)) return true;
    putBack(search);
  }
  return false;
}

function takeAll(search: Search, of: Pick<Given, 'claim' | 'alternative'>, next: () => boolean): boolean {
  const all = search.reachable.map((found) => ({ ...of, found })).filter((given) => isWantedHere(search, given));
  let count = 0;
  while (count < all.length && take(search, all[count]!)) count++;
  if (all.length > 0 && count === all.length && next()) return true;
  for (; count > 0; count--) putBack(search);
  return false;
}

/** The same, asked of each device once for all nodes: a selector is an expression of the claim's author. */
function isWantedHere({ budget }: Search, given: Given): boolean {
  const { verdicts, wish, deviceClass } = given.alternative;
  const { device } = given.found;
  let verdict = verdicts.get(device);
  if (verdict === undefined) {
    budget.evaluate((wish.selectors?.length ?? 0) + (deviceClass.spec.selectors?.length ?? 0));
    verdicts.set(device, (verdict = isWanted(given)));
  }
  return verdict;
}

/** Whether the device is of the kind the request asks for. */
function isWanted({ alternative: { wish, selects }, found: { driver, device } }: Given): boolean {
  const intolerable = ({ effect }: DeviceTaint): boolean => effect === 'NoSchedule' || effect === 'NoExecute';
  if (
    (device.taints ?? []).some(
      (taint) => intolerable(taint) && !(wish.tolerations ?? []).some((each) => toleratesDeviceTaint(each, taint)),
    )
  )
    return false;
  const enough = Object.entries(wish.capacity?.requests ?? {}).every(([name, amount]) => {
    const has = device.capacity?.[name] ?? device.capacity?.[name.replace(`${driver}/`, '')];
    return has !== undefined && compareQuantities(has.value, amount) >= 0;
  });
  return enough && selects(driver, device);
}

function isAdmins({ alternative }: Pick<Given, 'alternative'>): boolean {
  return alternative.wish.adminAccess === true;
}

/** Whether a part of the device is given and not the whole. */
function isShared(given: Pick<Given, 'alternative' | 'found'>): boolean {
  return given.found.device.allowMultipleAllocations === true && !isAdmins(given);
}

/** Takes the device, or a share of it, if it is free, its pool has what it needs and no constraint is against it. */
function take(search: Search, wanted: Given): boolean {
  const { claim, alternative, found } = wanted;
  const tallies = search.tallies.get(claim)!;
  if (tallies.devices >= MAX_DEVICES) return false;
  if (!isAdmins(wanted) && (search.inUse.has(found.key) || search.taken.has(found.key))) return false;
  const given = isShared(wanted) ? withShare(search, wanted) : wanted;
  if (given === undefined) return false;
  if (given.consumed === undefined) {
    if (search.given.some((other) => other.claim === claim && other.found === found)) return false;
    // It was shared once, and still is.
    if (!isAdmins(given) && search.shares.has(found.key)) return false;
  }
  const needs = countersNeeded(search, given);
  if (needs.some(([key, amount]) => (search.used.get(key) ?? 0) + amount > (search.pools.counters.get(key) ?? 0)))
    return false;
  const compared = alternative.constraints.length;
  if (compared > 0 && !search.budget.maySpend(compared)) return false;
  if (!tallies.agree(alternative.constraints, found)) return false;
  for (const [key, amount] of needs) search.used.set(key, (search.used.get(key) ?? 0) + amount);
  if (given.consumed !== undefined)
    search.shares.set(found.key, changedShares(search.shares.get(found.key), given.consumed, 1));
  else if (!isAdmins(given)) search.taken.add(found.key);
  tallies.add(alternative.constraints, found);
  search.given.push(given);
  return true;
}

function withShare(search: Search, given: Given): Given | undefined {
  const { alternative, found } = given;
  const consumed = consumptionOf(found.driver, found.device, alternative.wish.capacity?.requests ?? {});
  if (consumed === undefined || !hasLeft(found.device, search.shares.get(found.key), consumed)) return undefined;
  return { ...given, consumed };
}

/** What the device takes of its pool: once, however many share it. */
function countersNeeded(search: Search, given: Given): [string, number][] {
  if (isAdmins(given) || search.shares.has(given.found.key)) return [];
  return counterUse(given.found);
}

function putBack(search: Search): void {
  const given = search.given.pop()!;
  const { found, consumed } = given;
  search.tallies.get(given.claim)!.remove(given.alternative.constraints, found);
  if (isAdmins(given)) return;
  search.taken.delete(found.key);
  if (consumed !== undefined) {
    const isLast =
      !search.initialShares.has(found.key) &&
      !search.given.some((other) => other.found === found && other.consumed !== undefined);
    if (isLast) search.shares.delete(found.key);
    else search.shares.set(found.key, changedShares(search.shares.get(found.key), consumed, -1));
    if (!isLast) return;
  }
  for (const [key, amount] of counterUse(found)) search.used.set(key, (search.used.get(key) ?? 0) - amount);
}

function resultOf(wanted: WantedClaim, all: readonly Given[], node: Stored<Node>): AllocationResult {
  const given = all.filter(({ claim }) => claim === wanted);
  const config = configurationOf(wanted.claim, [...new Set(given.map(({ alternative }) => alternative))]);
  const nodeSelector = given.some(({ found }) => found.device.bindsToNode === true)
    ? selectorOf([{ nodeName: node.metadata.name }])
    : selectorOf(given.map(({ found }) => found));
  return {
    devices: {
      results: given.map(({ alternative, found, consumed }) => ({
        request: alternative.name,
        driver: found.driver,
        pool: found.pool,
        device: found.device.name,
        ...(alternative.wish.adminAccess === true ? { adminAccess: true } : {}),
        ...(alternative.wish.tolerations === undefined ? {} : { tolerations: alternative.wish.tolerations }),
        ...(consumed === undefined ? {} : { consumedCapacity: { ...consumed } }),
        ...bindingConditionsOf(found),
      })),
      ...(config.length === 0 ? {} : { config }),
    },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

/** What must be so, and what must not, before pods that use the device are bound. */
function bindingConditionsOf({
  device: { bindingConditions = [], bindingFailureConditions = [] },
}: PoolDevice): Pick<DeviceRequestAllocationResult, 'bindingConditions' | 'bindingFailureConditions'> {
  if (bindingConditions.length === 0) return {};
  return {
    bindingConditions: [...bindingConditions],
    ...(bindingFailureConditions.length === 0 ? {} : { bindingFailureConditions: [...bindingFailureConditions] }),
  };
}
