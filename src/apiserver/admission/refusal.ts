/** Refusals of admission plugins. Upstream: admission.NewForbidden. */
import { forbidden, type StatusError } from '../../api/status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './contract.ts';

/** A 403 that names the object, or its generateName. */
export function refusal({ resource, name, object }: AdmissionAttributes, why: string): StatusError {
  const { metadata } = object ?? {};
  return forbidden(resource, name || (metadata?.name ?? '') || (metadata?.generateName ?? ''), why);
}

/** Whether a request is on this resource itself. */
export function isOn(
  resource: { readonly group: string; readonly resource: string },
  subresource: string,
  wanted: { readonly group?: string; readonly resource: string; readonly subresource?: string },
): boolean {
  return (
    resource.resource === wanted.resource &&
    resource.group === (wanted.group ?? '') &&
    subresource === (wanted.subresource ?? '')
  );
}

export const podsCreated: AdmissionPlugin['handles'] = (operation, resource, subresource) =>
  operation === 'CREATE' && isOn(resource, subresource, { resource: 'pods' });

/** For plugins that handle pods but not their sub-resources. */
export const podsCreatedOrUpdated: AdmissionPlugin['handles'] = (operation, resource, subresource) =>
  (operation === 'CREATE' || operation === 'UPDATE') && isOn(resource, subresource, { resource: 'pods' });

/** For plugins that handle pods and their ephemeral containers. */
export const podsOrEphemeralContainersWritten: AdmissionPlugin['handles'] = (operation, resource, subresource) =>
  (operation === 'CREATE' || operation === 'UPDATE') &&
  (isOn(resource, subresource, { resource: 'pods' }) ||
    isOn(resource, subresource, { resource: 'pods', subresource: 'ephemeralcontainers' }));
