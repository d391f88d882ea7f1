/** What a claim asks for, with its classes looked up and its selectors compiled. Upstream: the preparation in structured.Allocator. */
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

/** One way to meet a request. */
export interface RequestAlternative {
  /** The request's name, or `request/subrequest`. */
  readonly name: string;
  readonly subRequest: DeviceSubRequest & { readonly adminAccess?: boolean };
  readonly deviceClass: DeviceClass;
  readonly selects: DeviceTest;
  /** Devices that were looked at, and whether they are wanted. Requests that want the same share it. */
  readonly verdicts: WeakMap<Device, boolean>;
  /** Constraints that name the request, by their place in the claim. */
  readonly constraints: readonly number[];
}

/** A claim that devices are to be found for. */
export interface WantedClaim {
  readonly claim: ResourceClaim;
  /** By request: ways in order of preference. */
  readonly requests: readonly (readonly RequestAlternative[])[];
  readonly constraints: readonly DeviceConstraint[];
}

/** By claim as it was read: what is known of devices is worth keeping until the next attempt. */
const prepared = new WeakMap<ResourceClaim, WantedClaim>();

/** Prepares a claim. Throws with a message for people when a class is missing or a selector does not compile. */
export function wantedClaim(claim: ResourceClaim, deviceClass: (name: string) => DeviceClass | undefined): WantedClaim {
  const known = prepared.get(claim);
  const isCurrent = (one: RequestAlternative): boolean =>
    deviceClass(one.subRequest.deviceClassName) === one.deviceClass;
  if (known?.requests.flat().every(isCurrent) === true) return known;
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

/** Whether a list of request names, as constraints and configurations have it, means this request. Empty: all. */
function namesRequest(names: readonly string[] | undefined, request: string): boolean {
  return names === undefined || names.length === 0 || names.includes(request) || names.includes(request.split('/')[0]!);
}

/** Configuration for the drivers of the allocated requests: that of the classes first, then that of the claim. */
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
