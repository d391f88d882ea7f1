/**
 * resource.k8s.io/v1beta1 ↔ v1: v1 moved a request's device into `exactly` and a slice's device out of `basic`. Upstream:
 * apis/resource/v1beta1/conversion.go.
 */
import type {
  Device,
  DeviceRequest,
  ExactDeviceRequest,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from '../../../api/gen/resource-v1.ts';
import { type KubernetesObject, objectOf } from '../../../api/object.ts';

type UntypedFields = Record<string, unknown>;

const STAY = new Set(['name', 'firstAvailable', 'exactly']);

function requestToV1(request: DeviceRequest & UntypedFields): DeviceRequest {
  const moved = Object.entries(request).filter(([key, value]) => !STAY.has(key) && value !== undefined);
  if (moved.length === 0) return request;
  return { name: request.name, exactly: Object.fromEntries(moved) as UntypedFields & ExactDeviceRequest };
}

function requestFromV1({ exactly, ...request }: DeviceRequest): DeviceRequest {
  return { ...request, ...exactly };
}

function mapRequests(
  spec: ResourceClaimSpec | undefined,
  map: (request: DeviceRequest & UntypedFields) => DeviceRequest,
): ResourceClaimSpec {
  const requests = spec?.devices?.requests;
  if (requests === undefined) return spec ?? {};
  return {
    ...spec,
    devices: {
      ...spec!.devices,
      requests: requests.map((request) => map(request as DeviceRequest & UntypedFields)),
    },
  };
}

function withApiVersion<T extends KubernetesObject>(object: KubernetesObject, version: string): T {
  return { ...object, apiVersion: `resource.k8s.io/${version}` } as T;
}

export const claimConversion = {
  toStored: (claim: KubernetesObject): KubernetesObject => {
    const stored = withApiVersion<ResourceClaim>(claim, 'v1');
    return { ...stored, spec: mapRequests(stored.spec, requestToV1) } as KubernetesObject;
  },
  fromStored: (claim: KubernetesObject): never => {
    const shown = withApiVersion<ResourceClaim>(claim, 'v1beta1');
    return { ...shown, spec: mapRequests(shown.spec, requestFromV1) } as never;
  },
};

export const claimTemplateConversion = {
  toStored: (template: KubernetesObject): KubernetesObject => {
    const stored = withApiVersion<ResourceClaimTemplate>(template, 'v1');
    return {
      ...stored,
      spec: { ...stored.spec, spec: mapRequests(stored.spec?.spec, requestToV1) },
    } as KubernetesObject;
  },
  fromStored: (template: KubernetesObject): never => {
    const shown = withApiVersion<ResourceClaimTemplate>(template, 'v1beta1');
    return { ...shown, spec: { ...shown.spec, spec: mapRequests(shown.spec?.spec, requestFromV1) } } as never;
  },
};

function deviceToV1(device: UntypedFields): UntypedFields {
  const { basic, ...rest } = device;
  return { ...rest, ...(basic as UntypedFields | undefined) };
}

function deviceFromV1({ name, ...basic }: UntypedFields): UntypedFields {
  return { name, basic };
}

function mapDevices(slice: ResourceSlice, map: (device: UntypedFields) => UntypedFields): KubernetesObject {
  const devices = slice.spec?.devices;
  if (devices === undefined) return slice;
  return objectOf({
    ...slice,
    spec: { ...slice.spec, devices: devices.map((device) => map(device as Device & UntypedFields)) },
  });
}

export const sliceConversion = {
  toStored: (slice: KubernetesObject): KubernetesObject =>
    mapDevices(withApiVersion<ResourceSlice>(slice, 'v1'), deviceToV1),
  fromStored: (slice: KubernetesObject): never =>
    mapDevices(withApiVersion<ResourceSlice>(slice, 'v1beta1'), deviceFromV1) as never,
};
