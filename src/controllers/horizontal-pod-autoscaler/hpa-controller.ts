/**
 * Scales targets to the number of replicas that their metrics propose. Upstream:
 * pkg/controller/podautoscaler/horizontal.go.
 *
 * Watches: autoscalers and pods. Writes alone: the status of autoscalers, and the size of their targets through the
 * scale sub-resource. Every autoscaler is reconciled every 15 s and when its spec changes. Recent recommendations are
 * kept in memory, as upstream: after a restart the current size counts as the first one.
 */
import { deepEqual } from '../../base/equal.ts';
import { HorizontalPodAutoscalers, Pods } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { errorMessage } from '../../base/errors.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { type Controller, type ControllerDeps, createKeyedLoop, informerList } from '../controller.ts';
import { draftOf } from './autoscaler-status.ts';
import { createHpaMonitor } from './hpa-metrics.ts';
import { createMetricsClient } from './metrics-client.ts';
import { recordFailure, updateStatus } from './reconciliation-status.ts';
import {
  actionOf,
  type DesiredSize,
  normalizeProposal,
  type Reconciliation,
  recordScaleEvent,
  setConditionOf,
} from './reconciliation.ts';
import { type HorizontalControllerDeps, ReplicasForMetrics } from './replicas-for-metrics.ts';
import { readScale, type ScaleTarget, writeScale } from './scale-target.ts';
import { emptyHistory, type ScalingHistory } from './scaling-rules.ts';

const ACCOUNT = 'horizontal-pod-autoscaler';
const NAME = 'horizontal-pod-autoscaler-controller';
const SYNC_PERIOD_MS = 15_000;

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
      if (!deepEqual(old.spec, hpa.spec)) loop.queue.add(keyOfObject(hpa));
    },
    onDelete(hpa) {
      monitor.count(--count);
      loop.queue.add(keyOfObject(hpa));
    },
  });
  return loop;
}

/** Reconciles autoscalers. Upstream: HorizontalController. */
class HorizontalController {
  readonly #deps: HorizontalControllerDeps;
  /** Recent recommendations and changes by the autoscaler's key. */
  readonly #histories = new Map<string, ScalingHistory>();
  readonly #replicas: ReplicasForMetrics;

  constructor(deps: HorizontalControllerDeps) {
    this.#deps = deps;
    this.#replicas = new ReplicasForMetrics(deps);
  }

  /** Whether the autoscaler exists; the history of a deleted one is dropped. */
  has(key: string): boolean {
    if (this.#deps.autoscalers.get(parseKey(key)) !== undefined) return true;
    this.#histories.delete(key);
    this.#replicas.forget(key);
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
    await updateStatus(this.#deps, reconciliation);
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
      await recordFailure(this.#deps, reconciliation, 'AbleToScale', {
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
    const proposal = await this.#replicas.compute(reconciliation, target);
    if (proposal === undefined) return undefined;
    return normalizeProposal(reconciliation, { ...proposal, current }, history);
  }

  /** Whether the target has its desired size; a failure is recorded. */
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
      await recordFailure(this.#deps, reconciliation, 'AbleToScale', {
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
}
