/**
 * Requests explanations. A Keelson server explains its objects itself, at `/keelson/v1/why/` before the object's path and at
 * `/keelson/v1/trouble`; objects of other servers are read and explained in this process, with the same result.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import type { Client, ObjectKey } from '../client/client.ts';
import { collectionPath, encodeQuery, objectPath } from '../client/request-path.ts';
import { explainObject, type ExplainOptions } from './explain.ts';
import { explainListed, type ListedOptions } from './explain-listed.ts';
import type { Explanation, ExplanationList } from './explanation.ts';
import { findTroubles, type TroubleOptions, type Troubles } from './trouble.ts';

const WHY_PATH = '/keelson/v1/why';
const TROUBLE_PATH = '/keelson/v1/trouble';

/** Rejects with the StatusError of the read when the object does not exist, or may not be read. */
export async function requestExplanation(
  info: ResourceInfo<KubernetesObject>,
  key: ObjectKey,
  options: ExplainOptions,
): Promise<Explanation> {
  const { client, signal } = options;
  const answer = await requestFromServer<Explanation>(client, `${WHY_PATH}${objectPath(info, key)}`, signal);
  return answer ?? explainObject(info, await client.resource(info).get(key, { signal }), options);
}

/** Explains the objects of a list that are in trouble. Rejects with a StatusError when they may not be listed. */
export async function requestExplanations(
  info: ResourceInfo<KubernetesObject>,
  options: ListedOptions,
): Promise<ExplanationList> {
  const { client, signal, namespace, labelSelector, fieldSelector } = options;
  const query = encodeQuery({ labelSelector, fieldSelector });
  const path = `${WHY_PATH}${collectionPath(info, namespace)}${query === '' ? '' : `?${query}`}`;
  return (await requestFromServer<ExplanationList>(client, path, signal)) ?? explainListed(info, options);
}

/** Finds the objects in trouble. Rejects only when the signal aborts, or the server does not respond. */
export async function requestTroubles(options: TroubleOptions, shown = 20): Promise<Troubles> {
  const { client, signal, namespace } = options;
  const path = `${TROUBLE_PATH}?${encodeQuery({ namespace, limit: shown })}`;
  return (await requestFromServer<Troubles>(client, path, signal)) ?? findTroubles(options, shown);
}

/** Undefined when the server does not explain objects. */
async function requestFromServer<T>(
  client: Client,
  path: string,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  try {
    const { body } = await client.raw({ path, signal });
    return JSON.parse(Buffer.from(body).toString('utf8')) as T;
  } catch (error) {
    if (isNotOffered(error)) return undefined;
    throw error;
  }
}

/** Whether an error names no object: the path is not served, or another server's authorizer does not allow it. */
function isNotOffered(error: unknown): boolean {
  if (!isReason(error, 'NotFound', 'Forbidden', 'MethodNotAllowed')) return false;
  const { name = '', kind = '' } = error.status.details ?? {};
  return name === '' && kind === '';
}
