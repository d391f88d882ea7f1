/**
 * Scales targets to the size that their metrics ask for. Upstream: pkg/controller/podautoscaler/horizontal.go.
 *
 * Watches: autoscalers and pods. Writes alone: the status of autoscalers, and the size of their targets through the scale
 * sub-resource. Every autoscaler is reconciled every 15 s and when its spec changes. Recent recommendations are kept in
 * memory, as upstream: after a restart the current size counts as the first one.
 */
import { parseLabelSelector } from '../../api/label-selector-parser.ts';
import { formatTime } from '../../api/time.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { HorizontalPodAutoscalers, Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { HorizontalPodAutoscaler } from '../../api/gen/autoscaling-v2.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { quantityAsFloat } from '../../api/quantity.ts';
import type { Clock } from '../../platform/clock.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { draftOf, type ConditionText, type ConditionType } from './autoscaler-status.ts';
import { evaluateMetric, type Evaluation, type EvaluationState, MetricError } from './metric-evaluation.ts';
import { createMetricsClient, type MetricsClient } from './metrics-client.ts';
import { createHpaMonitor, type HpaMonitor, type ScaleAction, type ScaleError } from './hpa-metrics.ts';
import { readScale, resourceOfKind, writeScale, type ScaleTarget } from './scale-target.ts';
import {
  actionOf,
  type DesiredSize,
  type MetricsProposal,
  normalizeProposal,
  type Reconciliation,
  recordScaleEvent,
  setConditionOf,
} from './reconciliation.ts';
import { emptyHistory, type ScalingHistory } from './scaling-rules.ts';
import { TargetSelectors } from './target-selectors.ts';

const ACCOUNT = 'horizontal-pod-autoscaler';
const NAME = 'horizontal-pod-autoscaler-controller';
const SYNC_PERIOD_MS = 15_000;
const TOLERANCE = 0.1;
const DELAYS = { cpuInitializationMs: 300_000, initialReadinessMs: 30_000 };

/** Failures that the autoscaler's own spec causes. */
const SPEC_ERRORS = new Set(['InvalidSelector', 'AmbiguousSelector', 'InvalidMetricSourceType']);

/** Texts of a failure: of the condition, and of the event where that differs. */
interface Failure extends ConditionText {
  readonly event?: ConditionText;
}

export function createHorizontalPodAutoscalerController(deps: ControllerDeps): Controller {
  const autoscalers = deps.informers.informer(HorizontalPodAutoscalers);
  const pods = deps.informers.informer(Pods);
  const client = deps.clientFor(ACCOUNT);
  const monitor = createHpaMonitor(deps.platform.metrics);
  const { clock } = deps.platform;
  const autoscaling = new HorizontalController({
    ...{ autoscalers, pods, client, monitor, clock },
    metrics: createMetricsClient(client, clock),
    recorder: deps.recorderFor(ACCOUNT),
  });
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'horizontalpodautoscaler',
    workers: 5,
    informers: informerList(autoscalers, pods),
    async sync(key, signal) {
      if (!autoscaling.has(key)) return;
      await autoscaling.sync(key, signal).finally(() => loop.queue.addAfter(key, SYNC_PERIOD_MS));
    },
  });
  let count = 0;
  autoscalers.addHandler({
    onAdd(hpa) {
      monitor.count(++count);
      loop.queue.add(keyOfObject(hpa));
    },
    onUpdate: (old, hpa) => {
      if (old.metadata.generation !== hpa.metadata.generation) loop.queue.add(keyOfObject(hpa));
    },
    onDelete(hpa) {
      monitor.count(--count);
      loop.queue.add(keyOfObject(hpa));
    },
  });
  return loop;
}

interface HorizontalControllerDeps {
  readonly autoscalers: Informer<HorizontalPodAutoscaler>;
  readonly pods: Informer<Pod>;
  readonly client: Client;
  readonly metrics: MetricsClient;
  readonly monitor: HpaMonitor;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
}

/** Reconciles autoscalers. Upstream: HorizontalController. */
class HorizontalController {
  readonly #deps: HorizontalControllerDeps;
  /** Recent recommendations and changes by the autoscaler's key. */
  readonly #histories = new Map<string, ScalingHistory>();
  readonly #selectors = new TargetSelectors();

  constructor(deps: HorizontalControllerDeps) {
    this.#deps = deps;
  }

  /** Whether the autoscaler exists; what is remembered of a deleted one is dropped. */
  has(key: string): boolean {
    if (this.#deps.autoscalers.get(parseKey(key)) !== undefined) return true;
    this.#histories.delete(key);
    this.#selectors.forget(key);
    this.#deps.monitor.forget(parseKey(key));
    return false;
  }

  async sync(key: string, signal: AbortSignal): Promise<void> {
    const { autoscalers, clock, monitor } = this.#deps;
    const hpa = autoscalers.get(parseKey(key))!;
    const result: Reconciliation['result'] = { action: 'none', error: 'internal' };
    const startedMs = clock.monotonicMs();
    try {
      await this.#reconcileAutoscaler({ hpa, key, draft: draftOf(hpa), nowMs: clock.nowMs(), signal, result });
    } finally {
      monitor.reconciled(result.action, result.error, (clock.monotonicMs() - startedMs) / 1000);
    }
  }

  async #reconcileAutoscaler(reconciliation: Reconciliation): Promise<void> {
    const { hpa, draft, nowMs, result } = reconciliation;
    const target = await this.#scaleTarget(reconciliation);
    if (target === undefined) return;
    const current = target.scale.spec?.replicas ?? 0;
    const history = this.#recordInitialRecommendation(reconciliation, current);
    const size = await this.#desiredSize(reconciliation, target, history);
    if (size === undefined) return;
    if (size.desired !== current) {
      if (!(await this.#rescale(reconciliation, target, size))) return;
      recordScaleEvent(history, size.desired - current, nowMs);
      draft.lastScaleTime = formatTime(nowMs);
    }
    result.error = 'none';
    result.action = actionOf(current, size.desired);
    draft.currentReplicas = current;
    draft.desiredReplicas = size.desired;
    this.#deps.monitor.desired(hpa.metadata, size.desired);
    await this.#updateStatus(reconciliation);
  }

  /** The target's scale; undefined when it cannot be read, which is recorded. */
  async #scaleTarget(reconciliation: Reconciliation): Promise<ScaleTarget | undefined> {
    const { hpa, signal } = reconciliation;
    const { apiVersion = 'v1', kind, name } = hpa.spec.scaleTargetRef;
    let target: ScaleTarget;
    try {
      const reference = { namespace: hpa.metadata.namespace, apiVersion, kind, name };
      target = await readScale(this.#deps.client, reference, signal);
    } catch (error) {
      signal.throwIfAborted();
      await this.#recordFailure(reconciliation, 'AbleToScale', {
        reason: 'FailedGetScale',
        message: `the HPA controller was unable to get the target's current scale: ${errorMessage(error)}`,
        event: { reason: 'FailedGetScale', message: errorMessage(error) },
      });
      return undefined;
    }
    setConditionOf(reconciliation, 'AbleToScale', {
      status: true,
      reason: 'SucceededGetScale',
      message: "the HPA controller was able to get the target's current scale",
    });
    return target;
  }

  #recordInitialRecommendation({ key, nowMs }: Reconciliation, current: number): ScalingHistory {
    let history = this.#histories.get(key);
    if (history === undefined) {
      history = emptyHistory();
      history.recommendations.push({ replicas: current, atMs: nowMs });
      this.#histories.set(key, history);
    }
    return history;
  }

  /** Undefined when the metrics cannot be evaluated, which is recorded. */
  async #desiredSize(
    reconciliation: Reconciliation,
    target: ScaleTarget,
    history: ScalingHistory,
  ): Promise<DesiredSize | undefined> {
    const { spec } = reconciliation.hpa;
    const current = target.scale.spec?.replicas ?? 0;
    const { minReplicas = 1, maxReplicas } = spec;
    if (current === 0 && minReplicas !== 0) {
      setConditionOf(reconciliation, 'ScalingActive', {
        status: false,
        reason: 'ScalingDisabled',
        message: 'scaling is disabled since the replica count of the target is zero',
      });
      return { desired: 0, reason: '' };
    }
    if (current > maxReplicas)
      return { desired: maxReplicas, reason: 'Current number of replicas above Spec.MaxReplicas' };
    if (current < minReplicas)
      return { desired: minReplicas, reason: 'Current number of replicas below Spec.MinReplicas' };
    const proposal = await this.#computeReplicasForMetrics(reconciliation, target);
    if (proposal === undefined) return undefined;
    return normalizeProposal(reconciliation, { ...proposal, current }, history);
  }

  /** Undefined when no size can be computed, which is recorded. */
  async #computeReplicasForMetrics(
    reconciliation: Reconciliation,
    target: ScaleTarget,
  ): Promise<MetricsProposal | undefined> {
    const state = await this.#evaluationState(reconciliation, target);
    if (state === undefined) return undefined;
    const current = state.currentReplicas;
    const { evaluations, failures } = await this.#evaluateMetrics(reconciliation, state);
    reconciliation.draft.currentMetrics = evaluations.map(({ status }) => status);
    const highest = evaluations.reduce((best, each) => (each.replicas > best.replicas ? each : best), {
      replicas: 0,
      name: '',
    });
    // Metrics of which some failed may scale up, never down.
    const [failure] = failures;
    if (failure !== undefined && (evaluations.length === 0 || highest.replicas < current)) {
      const total = reconciliation.hpa.spec.metrics?.length ?? 0;
      reconciliation.draft.currentReplicas = current;
      await this.#recordFailure(reconciliation, 'ScalingActive', {
        reason: failure.reason,
        message: `the HPA was unable to compute the replica count: ${failure.message}`,
        event: {
          reason: 'FailedComputeMetricsReplicas',
          message: `invalid metrics (${failures.length} invalid out of ${total}), first error is: ${failure.message}`,
        },
      });
      return undefined;
    }
    setConditionOf(reconciliation, 'ScalingActive', {
      status: true,
      reason: 'ValidMetricFound',
      message: `the HPA was able to successfully calculate a replica count from ${highest.name}`,
    });
    return { replicas: highest.replicas, metric: highest.name };
  }

  async #evaluateMetrics(
    { hpa, signal }: Reconciliation,
    state: EvaluationState,
  ): Promise<{ evaluations: Evaluation[]; failures: MetricError[] }> {
    const { clock, monitor, recorder } = this.#deps;
    const evaluations: Evaluation[] = [];
    const failures: MetricError[] = [];
    for (const spec of hpa.spec.metrics ?? []) {
      const startedMs = clock.monotonicMs();
      const computed = (action: ScaleAction, error: ScaleError): void =>
        monitor.computed({ action, error, metricType: spec.type, seconds: (clock.monotonicMs() - startedMs) / 1000 });
      try {
        const evaluation = await evaluateMetric(state, spec);
        evaluations.push(evaluation);
        computed(actionOf(state.currentReplicas, evaluation.replicas), 'none');
      } catch (error) {
        signal.throwIfAborted();
        computed('none', 'internal');
        if (!(error instanceof MetricError)) throw error;
        recorder.event(hpa, 'Warning', error.reason, error.message);
        failures.push(error);
      }
    }
    return { evaluations, failures };
  }

  /** Undefined when the target's pods cannot be distinguished from those of others, which is recorded. */
  async #evaluationState(reconciliation: Reconciliation, { scale }: ScaleTarget): Promise<EvaluationState | undefined> {
    const { hpa, key, signal } = reconciliation;
    const { autoscalers, pods, metrics, client } = this.#deps;
    const namespace = hpa.metadata.namespace;
    const podSelector = scale.status?.selector ?? '';
    if (podSelector === '') {
      await this.#recordFailure(reconciliation, 'ScalingActive', {
        reason: 'InvalidSelector',
        message: "the HPA target's scale is missing a selector",
        event: { reason: 'SelectorRequired', message: 'selector is required' },
      });
      return undefined;
    }
    const matcher = parseLabelSelector(podSelector);
    const selected = pods.list(namespace).filter((pod) => matcher.matches(pod.metadata.labels));
    this.#selectors.set(key, podSelector);
    const keys = autoscalers.list(hpa.metadata.namespace).map(keyOfObject);
    const others = this.#selectors.othersOf(key, keys, selected);
    if (others.length > 0) {
      const message = `pods by selector ${podSelector} are controlled by multiple HPAs: [${[key, ...others].join(' ')}]`;
      await this.#recordFailure(reconciliation, 'ScalingActive', { reason: 'AmbiguousSelector', message });
      return undefined;
    }
    const { scaleUp, scaleDown } = hpa.spec.behavior ?? {};
    return {
      ...{ namespace, podSelector, pods: selected, metrics, signal },
      currentReplicas: scale.spec?.replicas ?? 0,
      statusReplicas: scale.status?.replicas ?? 0,
      nowMs: reconciliation.nowMs,
      tolerances: { scaleUp: toleranceOf(scaleUp?.tolerance), scaleDown: toleranceOf(scaleDown?.tolerance) },
      delays: DELAYS,
      groupResourceOf: async (apiVersion, kind) =>
        groupResourceOf(await resourceOfKind(client, { apiVersion, kind }, signal)),
    };
  }

  /** Whether the target has its new size now; a failure is recorded. */
  async #rescale(
    reconciliation: Reconciliation,
    target: ScaleTarget,
    { desired, reason }: DesiredSize,
  ): Promise<boolean> {
    const { hpa, draft, signal } = reconciliation;
    try {
      await writeScale(this.#deps.client, target, { replicas: desired, signal });
    } catch (error) {
      signal.throwIfAborted();
      draft.currentReplicas = target.scale.spec?.replicas ?? 0;
      await this.#recordFailure(reconciliation, 'AbleToScale', {
        reason: 'FailedUpdateScale',
        message: `the HPA controller was unable to update the target scale: ${errorMessage(error)}`,
        event: {
          reason: 'FailedRescale',
          message: `New size: ${desired}; reason: ${reason}; error: ${errorMessage(error)}`,
        },
      });
      return false;
    }
    setConditionOf(reconciliation, 'AbleToScale', {
      status: true,
      reason: 'SucceededRescale',
      message: `the HPA controller was able to update the target scale to ${desired}`,
    });
    this.#deps.recorder.event(hpa, 'Normal', 'SuccessfulRescale', `New size: ${desired}; reason: ${reason}`);
    return true;
  }

  /** Records a failed reconciliation in an event and a condition. It is tried again at the next period. */
  async #recordFailure(reconciliation: Reconciliation, type: ConditionType, failure: Failure): Promise<void> {
    const { reason, message, event = failure } = failure;
    reconciliation.result.error = SPEC_ERRORS.has(reason) ? 'spec' : 'internal';
    this.#deps.recorder.event(reconciliation.hpa, 'Warning', event.reason, event.message);
    setConditionOf(reconciliation, type, { status: false, reason, message });
    await this.#updateStatus(reconciliation);
  }

  async #updateStatus({ hpa, draft, signal }: Reconciliation): Promise<void> {
    if (equalStatus(draft, hpa.status)) return;
    await this.#deps.client
      .resource(HorizontalPodAutoscalers)
      .updateStatus({ ...hpa, status: draft }, { signal })
      .catch(ignoreNotFound);
  }
}

function toleranceOf(text: string | undefined): number {
  return text === undefined ? TOLERANCE : quantityAsFloat(text);
}
