/** Finds the objects of a cluster that are in trouble: nodes, claims, workloads and pods, each with its first cause. */
import {
  APIServices,
  DaemonSets,
  Deployments,
  Jobs,
  Namespaces,
  Nodes,
  PersistentVolumeClaims,
  Pods,
  StatefulSets,
} from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import { errorMessage } from '../base/errors.ts';
import { controllerOf } from '../component-helpers/owner-references.ts';
import { isPodReady } from '../component-helpers/pods.ts';
import { boundedCauses } from './bounded-causes.ts';
import { Evidence } from './evidence.ts';
import { diagnose, type ExplainOptions } from './explain.ts';
import { firstCauses, objectText, type Diagnosis, type ObjectName } from './explanation.ts';
import { nameOfObject } from './object-name.ts';
import { pagesOf } from './pages.ts';
import { isOutOfTime } from './time-limit.ts';

/** An object in trouble. */
export interface Trouble extends Diagnosis {
  readonly object: ObjectName;
  /** The number of further objects of the same owner with the same cause. */
  readonly more: number;
}

/** The objects in trouble of a cluster, or of a namespace. */
export interface Troubles {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'Troubles';
  /** Nodes come first, and pods before their owners. */
  readonly found: readonly Trouble[];
  /** The number of further objects in trouble, and of objects beyond the limit that were not examined. */
  readonly notShown: number;
  readonly notReadable: readonly string[];
}

export type TroubleOptions = ExplainOptions & {
  readonly signal: AbortSignal;
  /** Examine only this namespace. */
  readonly namespace?: string | undefined;
};

interface Kind {
  readonly info: ResourceInfo<KubernetesObject>;
  /** Whether the object itself proves that it is healthy, before anything else is read. */
  readonly isWell: (object: KubernetesObject) => boolean;
}

function kind<T extends KubernetesObject>(info: ResourceInfo<T>, isWell: (object: T) => boolean): Kind {
  return {
    info: info as ResourceInfo<KubernetesObject>,
    isWell: isWell as (object: never) => boolean as Kind['isWell'],
  };
}

/** The kinds that are checked, in the order of the answer. */
const kinds: readonly Kind[] = [
  kind(Nodes, () => false),
  kind(APIServices, ({ status }) => status?.conditions?.some(isTrue('Available')) === true),
  kind(Namespaces, ({ metadata }) => metadata.deletionTimestamp === undefined),
  kind(PersistentVolumeClaims, ({ metadata, status }) => status?.phase === 'Bound' && !metadata.deletionTimestamp),
  kind(
    Pods,
    (pod) => pod.metadata.deletionTimestamp === undefined && (isPodReady(pod) || isFinished(pod.status?.phase)),
  ),
  kind(Deployments, ({ spec, status }) => (status?.availableReplicas ?? 0) >= (spec?.replicas ?? 1)),
  kind(StatefulSets, ({ spec, status }) => (status?.readyReplicas ?? 0) >= (spec?.replicas ?? 1)),
  kind(
    DaemonSets,
    ({ status }) => (status?.numberUnavailable ?? 0) === 0 && status?.desiredNumberScheduled !== undefined,
  ),
  kind(Jobs, ({ status }) => status?.conditions?.some(isTrue('Failed')) !== true && (status?.failed ?? 0) === 0),
];

function isTrue(type: string): (condition: { type: string; status: string }) => boolean {
  return (condition) => condition.type === type && condition.status === 'True';
}

function isFinished(phase: string | undefined): boolean {
  return phase === 'Succeeded';
}

/** The limit of objects that are explained, because each explanation reads more objects. */
const MAX_EXPLAINED = 100;
const MAX_READS = 2000;
const MAX_CAUSES = 10;

/**
 * Examines a cluster with the rights of the client. Rejects only when the signal aborts. At its time limit it returns what it has
 * found.
 * @param shown the maximum number of objects in the result
 */
export async function findTroubles(options: TroubleOptions, shown = 20): Promise<Troubles> {
  const search = new Search(options);
  for (const each of kinds) {
    if (options.namespace !== undefined && !isWithin(each)) continue;
    try {
      await search.visit(each);
    } catch (error) {
      if (!isOutOfTime(error)) throw error;
      return search.answer(shown, [`${each.info.resource} and what comes after them: ${errorMessage(error)}`]);
    }
  }
  return search.answer(shown);
}

/** Whether objects of the kind belong to a namespace; a namespace belongs to itself. */
function isWithin({ info }: Kind): boolean {
  return info.namespaced || info.resource === Namespaces.resource;
}

class Search {
  readonly #options: TroubleOptions;
  readonly #evidence: Evidence;
  readonly #found = new Map<string, Trouble>();
  /** First causes that were already reported: a workload adds nothing to the causes of its pods. */
  readonly #causes = new Set<string>();
  readonly #notReadable: string[] = [];
  #explained = 0;
  #notLookedAt = 0;

  constructor(options: TroubleOptions) {
    this.#options = options;
    this.#evidence = new Evidence({ maxReads: MAX_READS, ...options, explain: diagnose });
  }

  async visit({ info, isWell }: Kind): Promise<void> {
    const objects = await this.#suspects(info, isWell);
    for (const object of objects) {
      if (++this.#explained > MAX_EXPLAINED) this.#notLookedAt++;
      else this.#add(info, object, await this.#evidence.explain(info, object));
    }
  }

  async #suspects(info: ResourceInfo<KubernetesObject>, isWell: (object: KubernetesObject) => boolean) {
    const { client, signal, namespace } = this.#options;
    if (namespace !== undefined && !info.namespaced) return this.#itself(info, namespace, isWell);
    const found: KubernetesObject[] = [];
    const onRest = (count: number): void => {
      this.#notLookedAt += count;
    };
    try {
      for await (const page of pagesOf(info, { client, signal, namespace, onRest }))
        for (const object of page) if (!isWell(object)) found.push(object);
    } catch (error) {
      signal.throwIfAborted();
      const isRefused = isReason(error, 'Forbidden', 'Unauthorized');
      this.#notReadable.push(`${isRefused ? 'cannot see ' : ''}${info.resource}: ${errorMessage(error)}`);
    }
    return found;
  }

  async #itself(
    info: ResourceInfo<KubernetesObject>,
    name: string,
    isWell: (object: KubernetesObject) => boolean,
  ): Promise<KubernetesObject[]> {
    const { object } = await this.#evidence.get(info, { name });
    return object === undefined || isWell(object) ? [] : [object];
  }

  #add(info: ResourceInfo<KubernetesObject>, object: KubernetesObject, diagnosis: Diagnosis): void {
    if (diagnosis.state !== 'Trouble' && diagnosis.state !== 'Unknown') return;
    const first = firstCauses(diagnosis.causes);
    const texts = first.map(({ code, object: at }) => `${code} ${objectText(at)}`);
    if (info.resource !== 'pods' && texts.length > 0 && texts.every((text) => this.#causes.has(text))) return;
    for (const text of texts) this.#causes.add(text);
    const name = nameOfObject(info, object);
    const owner = controllerOf(object)?.uid;
    const codes = first.map(({ code }) => code).join(' ');
    const key = owner === undefined ? objectText(name) : `${owner} ${codes}`;
    const trouble = this.#found.get(key);
    const bounded = { ...diagnosis, causes: boundedCauses(diagnosis.causes, MAX_CAUSES) };
    this.#found.set(
      key,
      trouble === undefined ? { ...bounded, object: name, more: 0 } : { ...trouble, more: trouble.more + 1 },
    );
  }

  answer(shown: number, alsoNotReadable: readonly string[] = []): Troubles {
    const troubles = [...this.#found.values()];
    const rest = troubles.slice(shown).reduce((sum, { more }) => sum + more + 1, 0);
    return {
      apiVersion: 'keelson/v1',
      kind: 'Troubles',
      found: troubles.slice(0, shown),
      notShown: rest + this.#notLookedAt,
      notReadable: [...this.#notReadable, ...this.#evidence.notReadable, ...alsoNotReadable],
    };
  }
}
