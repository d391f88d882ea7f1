/** Asks a cluster over its API, with the rights of the kubeconfig: any cluster, of Keelson or not. */
import { Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { StatusError } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import { podWhyText, type PodWhy } from '../../component-helpers/pod-why.ts';
import { requestExplanation, requestExplanations } from '../../why/request-explanation.ts';
import type { Explanation, ExplanationList, ObjectName } from '../../why/explanation.ts';
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

export interface WhyAnswers {
  readonly answers: readonly Answer[];
  /** Whether there may be any number of answers: all of a kind, or several names. */
  readonly isList: boolean;
  /** Objects that were omitted because there are too many. */
  readonly notLookedAt: number;
}

/** A query that can be repeated. */
export interface WhyQuery {
  explain(): Promise<WhyAnswers>;
  close(): void;
}

/** Connects. Rejects with `UserError` when there is no cluster, or a target is unknown. */
export async function openWhyQuery(question: WhyQuestion): Promise<WhyQuery> {
  const all = question.allNamespaces === true || question.selector !== undefined;
  const targets = parseTargets(question.targets, all);
  const { client, namespace, nowMs, close } = await openKubeClient(question, 'keelson-why');
  return { close, explain: () => explainTargets(targets, { question, client, namespace, nowMs }) };
}

interface QueryContext {
  readonly question: WhyQuestion;
  readonly client: Client;
  readonly namespace: string;
  readonly nowMs: () => number;
}

async function explainTargets(targets: readonly Target[], context: QueryContext): Promise<WhyAnswers> {
  const { client } = context;
  const { resources } = await discoverResources(client);
  const answers: Answer[] = [];
  let notLookedAt = 0;
  for (const { kind, name } of targets) {
    const info = findResource(kind, resources);
    if (info === undefined) throw new UserError(`why: the server has no kind ${kind}`);
    const found = await (name === undefined ? listed(info, context) : explainNamed(info, name, context)).catch(
      asUserError,
    );
    notLookedAt += found.notLookedAt;
    for (const explanation of found.items)
      answers.push({ explanation, decision: await decisionText(info, explanation.object, context) });
  }
  const isList = targets.length !== 1 || targets[0]?.name === undefined;
  return { answers, isList, notLookedAt };
}

function listed(
  info: ResourceInfo<KubernetesObject>,
  { question, client, namespace, nowMs }: QueryContext,
): Promise<Pick<ExplanationList, 'items' | 'notLookedAt'>> {
  const { allNamespaces, selector } = question;
  return requestExplanations(info, {
    client,
    nowMs: nowMs(),
    namespace: info.namespaced && allNamespaces !== true ? namespace : undefined,
    labelSelector: selector,
  });
}

async function explainNamed(
  info: ResourceInfo<KubernetesObject>,
  name: string,
  { client, namespace, nowMs }: QueryContext,
): Promise<Pick<ExplanationList, 'items' | 'notLookedAt'>> {
  const key = info.namespaced ? { namespace, name } : { name };
  return { items: [await requestExplanation(info, key, { client, nowMs: nowMs() })], notLookedAt: 0 };
}

/** Throws the server's refusal of the question as one line. */
function asUserError(error: unknown): never {
  throw error instanceof StatusError ? new UserError(error.message) : error;
}

/** The scheduler's view of each node; nothing on a cluster whose API server has no such sub-resource. */
async function decisionText(
  info: ResourceInfo<KubernetesObject>,
  { namespace = '', name }: ObjectName,
  { question, client }: QueryContext,
): Promise<string> {
  const nodes = Number(question.nodes);
  if (nodes === 0 || info.group !== '' || info.kind !== 'Pod') return '';
  try {
    const options = { query: { nodes: question.nodes } };
    return podWhyText(await client.resource(Pods).getSubresource<PodWhy>({ namespace, name }, 'why', options), nodes);
  } catch (error) {
    if (error instanceof StatusError) return `  the scheduler's decision: ${error.message}\n`;
    throw error;
  }
}
