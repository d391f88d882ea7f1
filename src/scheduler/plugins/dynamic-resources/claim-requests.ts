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
import { getOrMake } from '../../../base/get-or-make.ts';
import { WeighedLru } from '../../../base/weighed-lru.ts';
import { stableStringify } from '../../../base/stable-json.ts';
import type { Amounts } from '../../devices/consumed-capacity.ts';
import { deviceTest, type DeviceTest } from '../../devices/device-selectors.ts';

/** Whether a device is selected, or the error of a selector. */
export type Verdict = boolean | Error;

/** One way to satisfy a request. */
export interface RequestAlternative {
  /** The request's name, or `request/subrequest`. */
  readonly name: string;
  readonly subRequest: DeviceSubRequest & { readonly adminAccess?: boolean };
  readonly deviceClass: DeviceClass;
  /** Shared as the verdicts are: an attempt continues a test that another has begun. */
  readonly selects: DeviceTest;
  /** Examined devices, and whether they are selected. Requests of all claims with the same selectors share it. */
  readonly verdicts: WeakMap<Device, Verdict>;
  /** What a share of a device consumes; undefined where the device cannot provide it. Shared as the verdicts are. */
  readonly consumptions: WeakMap<Device, { readonly consumed: Amounts | undefined }>;
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

/** Prepares a claim. Throws with a readable message when a class is missing. */
export function wantedClaim(claim: ResourceClaim, deviceClass: (name: string) => DeviceClass | undefined): WantedClaim {
  const cached = prepared.get(claim);
  const isCurrent = (one: RequestAlternative): boolean =>
    deviceClass(one.subRequest.deviceClassName) === one.deviceClass;
  if (cached?.requests.flat().every(isCurrent) === true) return cached;
  const wanted = prepareClaim(claim, deviceClass);
  prepared.set(claim, wanted);
  return wanted;
}

type AboutDevices = Pick<RequestAlternative, 'selects' | 'verdicts' | 'consumptions'>;

/** Characters of the texts that are kept for each class. */
const MAX_CHARACTERS = 4_000_000;

/** By class and by what a request demands: the claims that pods get from a template are equal. */
const remembered = new WeakMap<DeviceClass, WeighedLru<string, AboutDevices>>();

function aboutDevices(deviceClass: DeviceClass, subRequest: RequestAlternative['subRequest']): AboutDevices {
  const { selectors = [], tolerations, capacity, deviceClassName } = subRequest;
  const what = stableStringify({ selectors, tolerations, capacity, deviceClassName });
  const ofClass = getOrMake(remembered, deviceClass, () => new WeighedLru<string, AboutDevices>(1000, MAX_CHARACTERS));
  const cached = ofClass.get(what);
  if (cached !== undefined) return cached;
  const selects = deviceTest([...(deviceClass.spec.selectors ?? []), ...selectors]);
  const made: AboutDevices = { selects, verdicts: new WeakMap(), consumptions: new WeakMap() };
  ofClass.set(what, made, what.length);
  return made;
}

function prepareClaim(claim: ResourceClaim, deviceClass: (name: string) => DeviceClass | undefined): WantedClaim {
  const { requests = [], constraints = [] } = claim.spec.devices ?? {};
  const namesOf = constraints.map(({ requests: names }) => new Set(names));
  const prepare = (name: string, subRequest: RequestAlternative['subRequest']): RequestAlternative => {
    const found = deviceClass(subRequest.deviceClassName);
    if (found === undefined)
      throw new Error(`request ${name}: device class ${subRequest.deviceClassName} does not exist`);
    const about = aboutDevices(found, subRequest);
    const isNamed = nameTest(name);
    const naming = namesOf.flatMap((names, at) => (isNamed(names) ? at : []));
    return { name, subRequest, deviceClass: found, ...about, constraints: naming };
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
function nameTest(request: string): (names: ReadonlySet<string>) => boolean {
  const [parent = ''] = request.split('/');
  return (names) => names.size === 0 || names.has(request) || names.has(parent);
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
    .filter(({ requests }) => {
      const names = new Set(requests);
      return met.some(({ name }) => nameTest(name)(names));
    })
    .map((config) => ({ source: 'FromClaim', ...config }));
  return [...ofClasses, ...ofClaim];
}
