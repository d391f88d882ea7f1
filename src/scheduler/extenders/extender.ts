/**
 * HTTP extenders: web services that filter, score and bind beside the plugins. Upstream: scheduler/extender.go and
 * kube-scheduler/extender/v1. Field names are capitalized there; answers are read without regard to case, as Go does.
 */
import { podContainers } from '../../api/pod-containers.ts';
import { stringifyJson } from '../../api/codec/json.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { answerText } from '../../platform/answer-text.ts';
import type { HttpCall, Net, TlsOptions } from '../../platform/net.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import type { ExtenderConfig } from '../config/read-extenders.ts';
import type { ProposedVictims } from '../framework/plugin.ts';
import { unresolvable, unschedulable, failed, type Status } from '../framework/status.ts';

/** Sends one request; the process passes it in. */
export interface ExtenderDeps {
  readonly net: Pick<Net, 'http'>;
  /** The certificates that the configuration names, as content. */
  readonly tls?: TlsOptions;
}

export interface Extender {
  readonly name: string;
  readonly config: ExtenderConfig;
  /** Whether the extender takes part for the pod. Upstream: IsInterested. */
  isInterested(pod: Stored<Pod>): boolean;
  /** The nodes that pass, and the reasons of the others. Rejects when the extender fails. */
  filter(pod: Stored<Pod>, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ExtenderVerdict>;
  /** Weighted scores from 0 to 100, by node. Rejects when the extender fails. */
  prioritize(pod: Stored<Pod>, nodes: readonly NodeInfo[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** The nodes and victims of the proposal that it accepts. Rejects when the extender fails or names unknown pods. */
  preempt(
    pod: Stored<Pod>,
    proposed: ProposedVictims,
    at: { readonly snapshot: Snapshot; readonly signal: AbortSignal },
  ): Promise<ProposedVictims>;
  bind(pod: Stored<Pod>, nodeName: string, signal: AbortSignal): Promise<Status | undefined>;
}

/** The result of a filter call. */
export interface ExtenderVerdict {
  readonly feasible: readonly NodeInfo[];
  readonly statuses: ReadonlyMap<string, Status>;
}

/** The largest answer of an extender, which may hold all nodes. */
const MAX_BYTES = 128 * 1024 * 1024;

/** Extenders score from 0 to 10, plugins from 0 to 100. */
const SCALE = 10;

export function createExtender({ net, tls }: ExtenderDeps, config: ExtenderConfig): Extender {
  const name = config.urlPrefix;
  const send = async (verb: string, body: object, signal: AbortSignal): Promise<Answer> => {
    const call: HttpCall = {
      method: 'POST',
      url: `${config.urlPrefix}/${verb}`,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: stringifyJson(body),
      timeoutMs: config.httpTimeoutMs,
      signal,
      tls,
    };
    const answer = await net.http(call);
    const text = await answerText(answer, MAX_BYTES);
    if (answer.status !== 200) throw new Error(`failed ${verb} with extender at URL ${name}, code ${answer.status}`);
    return new Answer(JSON.parse(text));
  };
  const nodesOf = (nodes: readonly NodeInfo[]): object =>
    config.nodeCacheCapable
      ? { NodeNames: nodes.map((node) => node.name) }
      : { Nodes: { kind: 'NodeList', apiVersion: 'v1', metadata: {}, items: nodes.map(({ node }) => node) } };
  return {
    name,
    config,
    isInterested: (pod) => config.managedResources.length === 0 || asksForAny(pod, config.managedResources),
    async filter(pod, nodes, signal) {
      const answer = await send(config.filterVerb, { Pod: pod, ...nodesOf(nodes) }, signal);
      const error = answer.text('Error');
      if (error !== '') throw new Error(error);
      return verdictOf(answer, nodes, name);
    },
    async prioritize(pod, nodes, signal) {
      const answer = await send(config.prioritizeVerb, { Pod: pod, ...nodesOf(nodes) }, signal);
      return new Map(
        answer.items().map((one) => [one.text('Host'), one.number('Score') * config.weight * SCALE] as const),
      );
    },
    async preempt(pod, proposed, { snapshot, signal }) {
      const answer = await send(config.preemptVerb, { Pod: pod, ...victimsOf(proposed, config) }, signal);
      return new Map(
        answer.fields('NodeNameToMetaVictims').map(([node, victims]) => {
          const info = snapshot.byName(node);
          if (info === undefined) throw new Error(`extender: ${name} names node "${node}", which is not there`);
          return [node, { victims: namedVictims(victims, info, name), violations: victims.number('NumPDBViolations') }];
        }),
      );
    },
    async bind(pod, nodeName, signal) {
      const { name: PodName, namespace: PodNamespace, uid: PodUID } = pod.metadata;
      try {
        const answer = await send(config.bindVerb, { PodName, PodNamespace, PodUID, Node: nodeName }, signal);
        const error = answer.text('Error');
        return error === '' ? undefined : failed('Extender', new Error(error));
      } catch (error) {
        return failed('Extender', error);
      }
    },
  };
}

/** Pods for extenders without a node cache; uids for those with one. */
function victimsOf(proposed: ProposedVictims, { nodeCacheCapable }: ExtenderConfig): object {
  const entries = [...proposed].map(([node, { victims, violations: NumPDBViolations }]) => {
    const Pods = nodeCacheCapable ? victims.map(({ metadata }) => ({ UID: metadata.uid })) : victims;
    return [node, { Pods, NumPDBViolations }];
  });
  return { [nodeCacheCapable ? 'NodeNameToMetaVictims' : 'NodeNameToVictims']: Object.fromEntries(entries) };
}

function namedVictims(answer: Answer, { name: node, pods }: NodeInfo, extender: string): Stored<Pod>[] {
  return answer.list('Pods').map((one) => {
    const uid = one.text('UID');
    const pod = pods.get(uid);
    if (pod === undefined)
      throw new Error(
        `extender: ${extender} claims to preempt pod (UID: ${uid}) on node: ${node}, but the pod is not found on that node`,
      );
    return pod;
  });
}

function asksForAny(pod: Stored<Pod>, resources: readonly string[]): boolean {
  return podContainers(pod.spec).some(({ resources: own }) =>
    resources.some((name) => own?.requests?.[name] !== undefined || own?.limits?.[name] !== undefined),
  );
}

function verdictOf(answer: Answer, nodes: readonly NodeInfo[], extender: string): ExtenderVerdict {
  const names = answer.strings('NodeNames') ?? answer.object('Nodes')?.nodeNames();
  if (names === undefined) throw new Error(`extender at URL ${extender} named no nodes`);
  const left = new Set(names);
  const statuses = new Map<string, Status>();
  for (const [node, reason] of answer.entries('FailedNodes')) statuses.set(node, unschedulable(extender, reason));
  for (const [node, reason] of answer.entries('FailedAndUnresolvableNodes'))
    statuses.set(node, unresolvable(extender, reason));
  for (const { name } of nodes)
    if (!left.has(name) && !statuses.has(name))
      statuses.set(name, unschedulable(extender, 'node(s) were rejected by the extender'));
  return { feasible: nodes.filter(({ name }) => left.has(name)), statuses };
}

/** A decoded JSON object whose fields are read without regard to case. */
class Answer {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  text(name: string): string {
    const value = this.#field(name);
    return typeof value === 'string' ? value : '';
  }

  number(name: string): number {
    const value = this.#field(name);
    return typeof value === 'number' && Number.isFinite(value) ? value : 0;
  }

  items(): Answer[] {
    if (!Array.isArray(this.#value)) throw new Error('the extender did not answer with a list');
    return this.#value.map((value) => new Answer(value));
  }

  strings(name: string): string[] | undefined {
    const value = this.#field(name);
    return Array.isArray(value) ? value.map(String) : undefined;
  }

  object(name: string): Answer | undefined {
    const value = this.#field(name);
    return value === undefined || value === null ? undefined : new Answer(value);
  }

  /** The field's items; empty where it is absent. */
  list(name: string): Answer[] {
    const value = this.#field(name);
    return Array.isArray(value) ? value.map((item) => new Answer(item)) : [];
  }

  /** The field's own fields. */
  fields(name: string): [string, Answer][] {
    const value = this.#field(name);
    return typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).map(([key, inner]) => [key, new Answer(inner)]);
  }

  /** Names of the items of a NodeList. */
  nodeNames(): string[] {
    const items = this.#field('items');
    if (!Array.isArray(items)) return [];
    return items.map((item) => new Answer(item).object('metadata')?.text('name') ?? '');
  }

  entries(name: string): [string, string][] {
    const value = this.#field(name);
    return typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).map(([key, text]) => [key, String(text)]);
  }

  #field(name: string): unknown {
    if (typeof this.#value !== 'object' || this.#value === null) return undefined;
    const value = this.#value as Record<string, unknown>;
    if (Object.hasOwn(value, name)) return value[name];
    const wanted = name.toLowerCase();
    const key = Object.keys(value).find((one) => one.toLowerCase() === wanted);
    return key === undefined ? undefined : value[key];
  }
}
