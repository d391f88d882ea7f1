/**
 * Paths and queries of API requests, from descriptors and options. Upstream: client-go rest.Request's URL building.
 */
import { isPathSegmentName } from '../api/names.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { DeleteOptions, ListOptions, ObjectKey, WatchOptions, WriteOptions } from './client.ts';

/** `/api/v1` or `/apis/<group>/<version>`. */
function groupVersionPath(info: { readonly group: string; readonly version: string }): string {
  return info.group === '' ? `/api/${info.version}` : `/apis/${info.group}/${info.version}`;
}

/** A name as a part of a path. `.` and `..` would be steps of the path, however they are encoded. */
function segment(what: string, name: string): string {
  const problems = isPathSegmentName(name);
  if (problems.length > 0) throw new Error(`invalid ${what} ${JSON.stringify(name)}: ${problems.join(', ')}`);
  return encodeURIComponent(name);
}

/** Path of a collection; without a namespace it spans all of them. */
export function collectionPath(info: ResourceInfo, namespace: string | undefined): string {
  const base = groupVersionPath(info);
  const scoped = info.namespaced && namespace !== undefined && namespace !== '';
  return scoped ? `${base}/namespaces/${segment('namespace', namespace)}/${info.resource}` : `${base}/${info.resource}`;
}

/** Path of one object or of one of its sub-resources. A namespaced object without namespace is the caller's mistake. */
export function objectPath(info: ResourceInfo, key: ObjectKey, subresource?: string): string {
  if (info.namespaced && (key.namespace === undefined || key.namespace === '')) {
    throw new Error(
      `an empty namespace may not be set when a resource name is provided (${info.resource} "${key.name}")`,
    );
  }
  if (key.name === '') throw new Error(`resource name may not be empty (${info.resource})`);
  const path = `${collectionPath(info, key.namespace)}/${segment('resource name', key.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** Encodes query parameters, dropping the absent ones. */
export function encodeQuery(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  let query = '';
  for (const name of Object.keys(parameters)) {
    const value = parameters[name];
    if (value !== undefined && value !== '')
      query += `${query === '' ? '' : '&'}${name}=${encodeURIComponent(String(value))}`;
  }
  return query;
}

/** Query of list and deletecollection. */
export function listQuery(options: ListOptions): string {
  return encodeQuery({
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    limit: options.limit,
    continue: options.continue,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
  });
}

export function watchQuery(options: WatchOptions): string {
  return encodeQuery({
    watch: true,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    allowWatchBookmarks: options.allowWatchBookmarks === true ? true : undefined,
    sendInitialEvents: options.sendInitialEvents,
    timeoutSeconds: options.timeoutSeconds,
  });
}

/** Query of create, update and patch. */
export function writeQuery(
  options: WriteOptions,
  extra: Readonly<Record<string, string | boolean | undefined>> = {},
): string {
  return encodeQuery({
    dryRun: options.dryRun === true ? 'All' : undefined,
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    ...extra,
  });
}

/** Body of delete and deletecollection. */
export function deleteBody(options: DeleteOptions): object {
  return {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
    ...(options.preconditions === undefined ? {} : { preconditions: options.preconditions }),
    ...(options.dryRun === true ? { dryRun: ['All'] } : {}),
  };
}
