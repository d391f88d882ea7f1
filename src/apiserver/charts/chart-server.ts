/** Serves the data of charts. Samples are taken as long as charts are requested. */
import type { ChartSet } from '../../api/charts.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { Namespaces, Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { quantityAsFloat } from '../../api/quantity.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import { badRequest, noSuchPath, serviceUnavailable } from '../../api/status-error.ts';
import { parseTime } from '../../api/time.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { AuthorizationAttributes, Authorizer } from '../authz/contract.ts';
import { attributesOf, decide, forbiddenError } from '../filters/authorization.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import { type SummaryDeps, readSummaries } from '../metrics-api/node-summaries.ts';
import type { RequestScope } from '../request-scope.ts';
import { objectResponse } from '../responses.ts';
import { answerPaceOf, Turns } from '../turns.ts';
import { listCharts, objectCharts, requestCharts } from './chart-set.ts';
import { Collector } from './collector.ts';
import type { Subject } from './measures.ts';
import type { RequestState } from './request-rates.ts';
import type { Rings } from './rings.ts';
import { workloadKinds, workloadsOf } from './workloads.ts';

export interface ChartServerDeps extends SummaryDeps {
  readonly authorizers: readonly Authorizer[];
  readonly requestState: () => RequestState;
}

type Limits = Partial<Record<'cpu' | 'memory', number | undefined>>;

export class ChartServer {
  readonly #deps: ChartServerDeps;
  #collector: Collector | undefined;
  #stopped = false;

  constructor(deps: ChartServerDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopped = true;
    this.#collector?.end();
    this.#collector = undefined;
  }

  /** Rates and latencies of the requests that this server answered, by verb. */
  requests(scope: RequestScope): ApiResponse {
    const collector = this.#collecting();
    collector.ask();
    return chartsResponse(scope, requestCharts(collector));
  }

  /** One node, pod or workload. Rejects with 404 for other kinds, and with 403. */
  async object(scope: RequestScope, store: GenericStore): Promise<ApiResponse> {
    const kind = kindOf(store);
    const object = store.cell(scope.info).object();
    const seesPods = kind === 'pods' || (await this.#mayListPods(scope));
    if (kind !== 'nodes' && !seesPods) throw this.#refusal(scope);
    const collector = this.#collecting();
    const { uid, name } = object.metadata;
    collector.askFor(uid, () => this.#nodesOf(kind, object));
    const rings = ringsOf(collector, kind);
    const limits = kind === 'nodes' ? allocatable(object) : kind === 'pods' ? podLimits(object) : {};
    const key = kind === 'nodes' ? name : uid;
    return chartsResponse(scope, objectCharts(collector, { rings, key }, { restarts: seesPods, limits }));
  }

  /** Nodes, pods or workloads together, and the largest of them. Rejects with 404 for other kinds, and with 403. */
  async list(scope: RequestScope, store: GenericStore): Promise<ApiResponse> {
    const kind = kindOf(store);
    const { namespace, labelSelector = '', fieldSelector = '' } = scope.info;
    if (labelSelector !== '' || fieldSelector !== '') throw badRequest('charts of a list take no selectors');
    const seesPods = kind === 'pods' || (await this.#mayListPods(scope));
    if (kind !== 'nodes' && !seesPods) throw this.#refusal(scope);
    const collector = this.#collecting();
    collector.ask();
    const turns = new Turns(answerPaceOf(scope.request, this.#deps.clock));
    const charts = await listCharts(collector, ringsOf(collector, kind), {
      restarts: seesPods,
      includes: this.#isIncluded(kind, namespace),
      pause: () => turns.next(),
    });
    return chartsResponse(scope, charts);
  }

  #collecting(): Collector {
    if (this.#stopped) throw serviceUnavailable('the server is about to stop');
    const { clock, log, objects } = this.#deps;
    return (this.#collector ??= new Collector(
      {
        clock,
        log,
        objects,
        readSummaries: (names, visit) => readSummaries(this.#deps, names, visit),
        requests: this.#deps.requestState,
      },
      () => (this.#collector = undefined),
    ));
  }

  async #mayListPods(scope: RequestScope): Promise<boolean> {
    return (await decide(this.#deps.authorizers, podsOf(scope))).decision === 'allow';
  }

  #refusal(scope: RequestScope): Error {
    return forbiddenError(podsOf(scope), 'charts of workloads are of their pods');
  }

  /** The nodes whose kubelets know the object: in large clusters no others are asked. */
  #nodesOf(kind: string, object: Stored<KubernetesObject>): ReadonlySet<string> {
    const { name, uid, namespace = '' } = object.metadata;
    if (kind === 'nodes') return new Set([name]);
    if (kind === 'pods') return new Set([(object as Pod).spec?.nodeName].filter((node) => node !== undefined));
    const pods = this.#deps.objects.list(Pods, namespace);
    const owned = pods.filter((pod) =>
      workloadsOf(this.#deps.objects, pod, namespace).some((workload) => workload.uid === uid),
    );
    return new Set(owned.map(({ spec }) => spec?.nodeName).filter((node) => node !== undefined));
  }

  /** An object of an earlier namespace of the same name is not of this one. */
  #isIncluded(kind: string, namespace: string): (subject: Subject, firstMs: number) => boolean {
    const createdMs = new Map<string, number>();
    const creation = (name: string): number => {
      let cached = createdMs.get(name);
      if (cached === undefined) {
        const namespaceObject = this.#deps.objects.get(Namespaces, '', name);
        createdMs.set(
          name,
          (cached = namespaceObject === undefined ? Infinity : parseTime(namespaceObject.metadata.creationTimestamp)),
        );
      }
      return cached;
    };
    return (subject, firstMs) =>
      subject.kind === kind &&
      (namespace === '' || subject.namespace === namespace) &&
      (kind === 'nodes' || creation(subject.namespace) <= firstMs);
  }
}

/** Throws 404 for kinds that have no charts. */
function kindOf({ info }: GenericStore): string {
  const kind = groupResourceOf(info);
  const { version } = info;
  if (version !== 'v1' || !(kind === 'nodes' || kind === 'pods' || workloadKinds.has(kind))) throw noSuchPath();
  return kind;
}

function ringsOf({ rings }: Collector, kind: string): Rings<Subject> {
  return kind === 'nodes' ? rings.nodes : kind === 'pods' ? rings.pods : rings.workloads;
}

/** The right to list pods where the request looks. */
function podsOf(scope: RequestScope): AuthorizationAttributes {
  const pods = { verb: 'list', apiGroup: '', apiVersion: 'v1', resource: 'pods', subresource: '', name: '' };
  return { ...attributesOf(scope.user, scope.info), ...pods, labelSelector: '', fieldSelector: '' };
}

function chartsResponse(scope: RequestScope, charts: ChartSet): ApiResponse {
  return objectResponse(scope.request, { object: charts });
}

function allocatable({ status }: Node): Limits {
  return limitsOf(status?.allocatable);
}

/** The limits of the pod as a whole; of a pod whose containers do not all have one, there is none. */
function podLimits({ spec }: Pod): Limits {
  const own = limitsOf(spec?.resources?.limits);
  const containers = (spec?.containers ?? []).map(({ resources }) => limitsOf(resources?.limits));
  const sum = (name: 'cpu' | 'memory'): number | undefined =>
    own[name] ?? containers.reduce<number | undefined>((total, each) => plus(total, each[name]), 0);
  return { cpu: sum('cpu'), memory: sum('memory') };
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

function limitsOf({ cpu, memory }: Readonly<Record<string, string>> = {}): Limits {
  const amount = (text: string | undefined): number | undefined => (text === undefined ? text : quantityAsFloat(text));
  return { cpu: amount(cpu), memory: amount(memory) };
}
