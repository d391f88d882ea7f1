/** Explanations for tests: of objects, of allowed and refused requests, and the timeline of a pod's start. */
import type { Client, ObjectKey } from '../client/client.ts';
import { discoverResources } from '../client/discovery.ts';
import { objectPath } from '../client/request-path.ts';
import type { PodTrace } from '../component-helpers/pod-trace/pod-trace.ts';
import type { AccessWords } from '../why/access/access-request.ts';
import type { Explanation } from '../why/explanation.ts';
import type { ResolvedReference } from './references.ts';

/** The components to read from, and the time. */
interface Asked {
  readonly client: Client;
  readonly nowMs: number;
}

const keyOf = ({ info, namespace, name }: ResolvedReference): ObjectKey =>
  info.namespaced ? { namespace, name } : { name };

export async function explainObject({ client, nowMs }: Asked, found: ResolvedReference): Promise<Explanation> {
  const { requestExplanation } = await import('../why/request-explanation.ts');
  return requestExplanation(found.info, keyOf(found), { client, nowMs });
}

/** The result of `explainObject` as text. */
export async function explanationOf(question: Asked, found: ResolvedReference): Promise<string> {
  const [explanation, { explanationText }] = await Promise.all([
    explainObject(question, found),
    import('../why/text.ts'),
  ]);
  return explanationText(explanation);
}

export async function explainAccess({ client, nowMs }: Asked, words: AccessWords): Promise<Explanation> {
  const [{ accessRequestOf }, { explainRequest }] = await Promise.all([
    import('../why/access/access-request.ts'),
    import('../why/explain.ts'),
  ]);
  const { resources } = await discoverResources(client);
  return explainRequest(accessRequestOf(words, resources), { client, nowMs });
}

export async function traceOf({ client }: Asked, found: ResolvedReference): Promise<PodTrace> {
  const { body } = await client.raw({ path: `/keelson/v1/trace${objectPath(found.info, keyOf(found))}` });
  return JSON.parse(Buffer.from(body).toString()) as PodTrace;
}
