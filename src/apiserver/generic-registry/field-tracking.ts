/**
 * Keeps managed fields up to date on writes. Upstream: the field manager behind each request scope, with the reset
 * fields of the strategies: `status` belongs to the status sub-resource, everything else to the object.
 */
import type { JsonObject } from '../../api/codec/own-property.ts';
import {
  apply,
  trackUpdate,
  type ApplyResult,
  type FieldManagerRequest,
} from '../../api/managed-fields/field-manager.ts';
import { type FieldSet, leaf } from '../../api/managed-fields/field-set.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { GenericStore } from './generic-store.ts';
import { nowText } from './write.ts';

const statusFields: FieldSet = { 'f:status': leaf };
const specFields: FieldSet = { 'f:spec': leaf };

function resetFieldsOf(store: GenericStore, subresource: string): FieldSet | undefined {
  if (subresource === 'status') return specFields;
  return store.definition.objectSubresources?.['status'] === undefined ? undefined : statusFields;
}

function requestOf(store: GenericStore, manager: string, subresource: string): FieldManagerRequest {
  const resetFields = resetFieldsOf(store, subresource);
  return {
    schema: store.schema,
    manager,
    apiVersion: store.apiVersion,
    subresource,
    time: nowText(store),
    ...(resetFields === undefined ? {} : { resetFields }),
  };
}

/** The object with managed fields as an update by `manager` leaves them. */
export function trackFields(
  store: GenericStore,
  change: { live: KubernetesObject | undefined; next: KubernetesObject; manager: string; subresource: string },
): KubernetesObject {
  const request = requestOf(store, change.manager, change.subresource);
  const tracked = trackUpdate(change.live as JsonObject | undefined, change.next as unknown as JsonObject, request);
  return tracked as unknown as KubernetesObject;
}

/** Server-side apply of a configuration. */
export function applyFields(
  store: GenericStore,
  change: {
    live: KubernetesObject | undefined;
    config: JsonObject;
    manager: string;
    subresource: string;
    force: boolean;
  },
): ApplyResult {
  const request = requestOf(store, change.manager, change.subresource);
  return apply(change.live as JsonObject | undefined, change.config, { ...request, force: change.force });
}
