/**
 * The number of replicas that the metrics of an autoscaler propose together. Upstream: computeReplicasForMetrics in
 * horizontal.go.
 */
import type { HorizontalPodAutoscaler } from '../../api/gen/autoscaling-v2.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { quantityAsFloat } from '../../api/quantity.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { Clock } from '../../platform/clock.ts';
import { selectedOf } from '../selecting-owners.ts';
import type { HpaMonitor, ScaleAction, ScaleError } from './hpa-metrics.ts';
import { evaluateMetric, type Evaluation, type EvaluationState, MetricError } from './metric-evaluation.ts';
import type { MetricsClient } from './metrics-client.ts';
import { recordFailure } from './reconciliation-status.ts';
import { actionOf, type MetricsProposal, type Reconciliation, setConditionOf } from './reconciliation.ts';
import { resourceOfKind, type ScaleTarget } from './scale-target.ts';
import { TargetSelectors } from './target-selectors.ts';

const TOLERANCE = 0.1;
const DELAYS = { cpuInitializationMs: 300_000, initialReadinessMs: 30_000 };

export interface HorizontalControllerDeps {
  readonly autoscalers: Informer<HorizontalPodAutoscaler>;
  readonly pods: Informer<Pod>;
  readonly client: Client;
  readonly metrics: MetricsClient;
  readonly monitor: HpaMonitor;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
}

export class ReplicasForMetrics {
  readonly #deps: HorizontalControllerDeps;
  readonly #selectors = new TargetSelectors();

  constructor(deps: HorizontalControllerDeps) {
    this.#deps = deps;
  }

  /** Drops the history of a deleted autoscaler. */
  forget(key: string): void {
    this.#selectors.forget(key);
  }

  /** Undefined when no size can be computed, which is recorded. Upstream: computeReplicasForMetrics. */
  async compute(reconciliation: Reconciliation, target: ScaleTarget): Promise<MetricsProposal | undefined> {
    const state = await this.#evaluationState(reconciliation, target);
    if (state === undefined) return undefined;
    const current = state.currentReplicas;
    const { evaluations, failures } = await this.#evaluateMetrics(reconciliation, state);
    reconciliation.draft.currentMetrics = evaluations.map(({ status }) => status);
    const highest = evaluations.reduce((best, each) => (each.replicas > best.replicas ? each : best), {
      replicas: 0,
      name: '',
    });
    // When some metrics failed, the others may scale up but not down.
    const [failure] = failures;
    if (failure !== undefined && (evaluations.length === 0 || highest.replicas < current)) {
      const total = reconciliation.hpa.spec.metrics?.length ?? 0;
      reconciliation.draft.currentReplicas = current;
      await recordFailure(this.#deps, reconciliation, 'ScalingActive', {
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

  /** Undefined when other autoscalers select the same pods, which is recorded. */
  async #evaluationState(reconciliation: Reconciliation, { scale }: ScaleTarget): Promise<EvaluationState | undefined> {
    const { hpa, key, signal } = reconciliation;
    const { autoscalers, pods, metrics, client, clock } = this.#deps;
    const namespace = hpa.metadata.namespace;
    const podSelector = scale.status?.selector ?? '';
    if (podSelector === '') {
      await recordFailure(this.#deps, reconciliation, 'ScalingActive', {
        reason: 'InvalidSelector',
        message: "the HPA target's scale is missing a selector",
        event: { reason: 'SelectorRequired', message: 'selector is required' },
      });
      return undefined;
    }
    const matcher = this.#selectors.set(key, podSelector);
    const selected = await selectedOf(pods.list(namespace), matcher, () => clock.yield());
    const keys = autoscalers.list(hpa.metadata.namespace).map(keyOfObject);
    const others = await this.#selectors.othersOf(key, keys, { pods: selected, pause: () => clock.turn() });
    if (others.length > 0) {
      const message = `pods by selector ${podSelector} are controlled by multiple HPAs: [${[key, ...others].join(' ')}]`;
      await recordFailure(this.#deps, reconciliation, 'ScalingActive', { reason: 'AmbiguousSelector', message });
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
}

function toleranceOf(text: string | undefined): number {
  return text === undefined ? TOLERANCE : quantityAsFloat(text);
}
