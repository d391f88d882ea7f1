/** Explanations that the server computes; a module of its own, which is loaded at the first request. */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { RequestInfo } from '../../apiserver/request-context.ts';
import { explainObject, type ExplainOptions } from '../../why/explain.ts';
import { explainListed } from '../../why/explain-listed.ts';
import type { Explanation, ExplanationList } from '../../why/explanation.ts';
import { explainedVersion } from '../../why/list.ts';

export { OutOfTimeError } from '../../why/time-limit.ts';
export { findTroubles } from '../../why/trouble.ts';

export type Options = ExplainOptions & { readonly signal: AbortSignal };

/** Explains one object. Rejects with 404 when it does not exist. */
export async function whyOf(
  info: ResourceInfo,
  { namespace, name }: RequestInfo,
  options: Options,
): Promise<Explanation> {
  const { client, signal } = options;
  const version = versionOf(info);
  const object = await client.resource(version).get(info.namespaced ? { namespace, name } : { name }, { signal });
  return explainObject(version, object, options);
}

/** Explains the objects of a list that are in trouble. */
export function whyOfList(
  info: ResourceInfo,
  { namespace, labelSelector, fieldSelector }: RequestInfo,
  options: Options,
): Promise<ExplanationList> {
  return explainListed(versionOf(info), { ...options, namespace, labelSelector, fieldSelector });
}

function versionOf(info: ResourceInfo): ResourceInfo<KubernetesObject> {
  return explainedVersion(info as ResourceInfo<KubernetesObject>);
}
