/** Asks a cluster over its API, with the rights of the kubeconfig: any cluster, of Keelson or not. */
import { Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { StatusError } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import { podWhyText, type PodWhy } from '../../component-helpers/pod-why.ts';
import { explainObject } from '../../why/explain.ts';
import type { Explanation } from '../../why/explanation.ts';
import { findResource } from '../../why/find-resource.ts';
import { type ClusterChoice, openKubeClient } from '../kube-client.ts';
import { UserError } from '../usage-error.ts';
import { parseTargets, type Target } from './targets.ts';

export interface WhyQuestion extends ClusterChoice {
  readonly targets: readonly string[];
  readonly allNamespaces?: true;
  readonly selector?: string;
  /** How many nodes of a pod's scheduling decision are shown; a whole number. */
  readonly nodes: string;
}

export interface Answer {
  readonly explanation: Explanation;
  /** The scheduler's explanation of a pod, as text; '' when it was not requested. */
  readonly decision: string;
}

/** A query that can be repeated. */
export interface Asking {
  explain(): Promise<readonly Answer[]>;
  close(): void;
}

/** Connects. Rejects with `UserError` when there is no cluster, or a target is unknown. */
export async function ask(question: WhyQuestion): Promise<Asking> {
  const all = question.allNamespaces === true || question.selector !== undefined;
  const targets = parseTargets(question.targets, all);
  const { client, namespace, nowMs, close } = await openKubeClient(question, 'keelson-why');
  return { close, explain: () => explainTargets(targets, { question, client, namespace, nowMs }) };
}

interface Asked {
  readonly question: WhyQuestion;
  readonly client: Client;
  readonly namespace: string;
  readonly nowMs: () => number;
}

async function explainTargets(targets: readonly Target[], asked: Asked): Promise<readonly Answer[]> {
  const { client, nowMs } = asked;
  const { resources } = await discoverResources(client);
  const answers: Answer[] = [];
  for (const { kind, name } of targets) {
    const info = findResource(kind, resources);
    if (info === undefined) throw new UserError(`why: the server has no kind ${kind}`);
    const objects = name === undefined ? await listed(info, asked) : [await named(info, name, asked)];
    for (const object of objects) {
      const explanation = await explainObject(info, object, { client, nowMs: nowMs() });
      if (name === undefined && explanation.state !== 'Trouble' && explanation.state !== 'Unknown') continue;
      answers.push({ explanation, decision: await decisionText(info, object, asked) });
    }
  }
  return answers;
}

async function listed(
  info: ResourceInfo<KubernetesObject>,
  { question, client, namespace }: Asked,
): Promise<readonly KubernetesObject[]> {
  const { allNamespaces, selector } = question;
  const { items } = await client.resource(info).list({
    namespace: info.namespaced && allNamespaces !== true ? namespace : undefined,
    labelSelector: selector,
  });
  return items;
}

async function named(
  info: ResourceInfo<KubernetesObject>,
  name: string,
  { client, namespace }: Asked,
): Promise<KubernetesObject> {
  try {
    return await client.resource(info).get(info.namespaced ? { namespace, name } : { name });
  } catch (error) {
    if (error instanceof StatusError) throw new UserError(error.message);
    throw error;
  }
}

/** The scheduler's view of each node; nothing on a cluster whose API server has no such sub-resource. */
async function decisionText(
  info: ResourceInfo<KubernetesObject>,
  { metadata }: KubernetesObject,
  { question, client }: Asked,
): Promise<string> {
  const nodes = Number(question.nodes);
  if (nodes === 0 || info.group !== '' || info.kind !== 'Pod') return '';
  const { namespace = '', name = '' } = metadata;
  try {
    return podWhyText(await client.resource(Pods).getSubresource<PodWhy>({ namespace, name }, 'why'), nodes);
  } catch (error) {
    if (error instanceof StatusError) return `  the scheduler's decision: ${error.message}\n`;
    throw error;
  }
}
