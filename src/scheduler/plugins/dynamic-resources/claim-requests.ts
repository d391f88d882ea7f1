/**
 * The requests of a claim with their device classes and compiled selectors. Upstream: the preparation in
 * structured.Allocator.
 */
import type {
  Device,
  DeviceAllocationConfiguration,
  DeviceClass,
  DeviceConstraint,
  DeviceSubRequest,
  ResourceClaim,
} from '../../../api/gen/resource-v1.ts';
import { stableStringify } from '../../../base/stable-json.ts';
import { deviceTest, type DeviceTest } from '../../devices/device-selectors.ts';

/** One way to satisfy a request. */
export interface RequestAlternative {
  /** The request's name, or `request/subrequest`. */
  readonly name: string;
  readonly subRequest: DeviceSubRequest & { readonly adminAccess?: boolean };
  readonly deviceClass: DeviceClass;
  readonly selects: DeviceTest;
  /** Examined devices, and whether they are selected. Requests with the same selectors share it. */
  readonly verdicts: WeakMap<Device, boolean>;
  /** Constraints that apply to the request, by their index in the claim. */
  readonly constraints: readonly number[];
}

/** A claim that needs an allocation. */
export interface WantedClaim {
  readonly claim: ResourceClaim;
  /** For each request its alternatives in order of preference. */
  readonly requests: readonly (readonly RequestAlternative[])[];
  readonly constraints: readonly DeviceConstraint[];
}

/** By the claim object: selector results are kept until the next attempt. */
const prepared = new WeakMap<ResourceClaim, WantedClaim>();

/** Prepares a claim. Throws with a readable message when a class is missing or a selector does not compile. */
export function wantedClaim(claim: ResourceClaim, deviceClass: (name: string) => DeviceClass | undefined): WantedClaim {
  const cached = prepared.get(claim);
  const isCurrent = (one: RequestAlternative): boolean =>
    deviceClass(one.subRequest.deviceClassName) === one.deviceClass;
  if (cached?.requests.flat().every(isCurrent) === true) return cached;
  const wanted = prepareClaim(claim, deviceClass);
  prepared.set(claim, wanted);
  return wanted;
}

function prepareClaim(claim: ResourceClaim, deviceClass: (name: string) => DeviceClass | undefined): WantedClaim {
  const { requests = [], constraints = [] } = claim.spec.devices ?? {};
  const verdictsOf = new Map<string, RequestAlternative['verdicts']>();
  const prepare = (name: string, subRequest: RequestAlternative['subRequest']): RequestAlternative => {
    const found = deviceClass(subRequest.deviceClassName);
    if (found === undefined)
      throw new Error(`request ${name}: device class ${subRequest.deviceClassName} does not exist`);
    const selects = deviceTest([...(found.spec.selectors ?? []), ...(subRequest.selectors ?? [])]);
    const { selectors, tolerations, capacity, deviceClassName } = subRequest;
    const what = stableStringify({ selectors, tolerations, capacity, deviceClassName });
    const verdicts = verdictsOf.get(what) ?? new WeakMap<Device, boolean>();
    verdictsOf.set(what, verdicts);
    const naming = constraints.flatMap(({ requests: names }, at) => (namesRequest(names, name) ? at : []));
    return { name, subRequest, deviceClass: found, selects, verdicts, constraints: naming };
  };
  return {
    claim,
    constraints,
    requests: requests.map(({ name, exactly, firstAvailable = [] }) =>
      exactly !== undefined
        ? [prepare(name, { ...exactly, name })]
        : firstAvailable.map((sub) => prepare(`${name}/${sub.name}`, sub)),
    ),
  };
}

/** Whether the `requests` of a constraint or configuration include this request. Empty: all requests. */
function namesRequest(names: readonly string[] | undefined, request: string): boolean {
  return names === undefined || names.length === 0 || names.includes(request) || names.includes(request.split('/')[0]!);
}

/** Configuration for the drivers of the allocated requests: the classes' first, then the claim's. */
export function configurationOf(
  claim: ResourceClaim,
  met: readonly RequestAlternative[],
): DeviceAllocationConfiguration[] {
  const ofClasses = met.flatMap(({ name, deviceClass }) =>
    (deviceClass.spec.config ?? []).map((config) => ({ source: 'FromClass', requests: [name], ...config })),
  );
  const ofClaim = (claim.spec.devices?.config ?? [])
    .filter(({ requests }) => met.some(({ name }) => namesRequest(requests, name)))
    .map((config) => ({ source: 'FromClaim', ...config }));
  return [...ofClasses, ...ofClaim];
}
