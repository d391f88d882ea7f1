/**
 * Keeps targets at the size their metrics ask for. Upstream: pkg/controller/podautoscaler.
 *
 * Watches: autoscalers and pods. Writes alone: autoscalers' status, and the size of their targets through the scale
 * sub-resource. Every autoscaler is looked at once in 15 s and when its spec changes. What it asked for lately is kept in
 * memory, as upstream's: after a restart the size at hand counts as the first wish.
 */
import { parseLabelSelector } from '../../api/label-selector-parser.ts';
import { formatTime } from '../../api/time.ts';
import { groupResourceOf } from '../../api/resource-info.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { HorizontalPodAutoscalers, Pods } from '../../api/gen/resources.ts';
import type { HorizontalPodAutoscaler } from '../../api/gen/autoscaling-v2.ts';
import { errorMessage } from '../../base/errors.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { quantityAsFloat } from '../../api/quantity.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { draftOf, setCondition, type Saying, type StatusDraft } from './autoscaler-status.ts';
import { evaluateMetric, type Evaluation, type EvaluationState, MetricError } from './metric-evaluation.ts';
import { createMetricsClient } from './metrics-client.ts';
import { createHpaMetrics, type ScaleAction, type ScaleError } from './hpa-metrics.ts';
import { readScale, resourceOfKind, writeScale, type ScaleTarget } from './scale-target.ts';
import { decidePlain, decideWithBehavior, emptyHistory, type ScalingHistory } from './scaling-rules.ts';

const ACCOUNT = 'horizontal-pod-autoscaler';
const NAME = 'horizontal-pod-autoscaler-controller';
const SYNC_PERIOD_MS = 15_000;
const STABILIZATION_MS = 300_000;
const TOLERANCE = 0.1;
const DELAYS = { cpuInitializationMs: 300_000, initialReadinessMs: 30_000 };

/** One look at an autoscaler. */
interface Look {
  readonly hpa: HorizontalPodAutoscaler;
  readonly key: string;
  readonly draft: StatusDraft;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** What came of it, for the metrics. */
  readonly result: { action: ScaleAction; error: ScaleError };
}

/** Failures that the autoscaler's own settings cause. */
const SPEC_ERRORS = new Set(['InvalidSelector', 'AmbiguousSelector', 'InvalidMetricSourceType']);

function actionOf(current: number, replicas: number): ScaleAction {
  return replicas === current ? 'none' : replicas > current ? 'scale_up' : 'scale_down';
}

/** What the metrics said together. */
interface Wish {
  readonly replicas: number;
  readonly metric: string;
}

export function createHorizontalPodAutoscalerController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const metrics = createMetricsClient(client, clock);
  const recorder = deps.recorderFor(ACCOUNT);
  const told = createHpaMetrics(deps.platform.metrics);
  const autoscalers = deps.informers.informer(HorizontalPodAutoscalers);
  const pods = deps.informers.informer(Pods);
  const histories = new Map<string, ScalingHistory>();
  const selectors = new Map<string, string>();
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'horizontalpodautoscaler',
    workers: 5,
    informers: informerList(autoscalers, pods),
    sync,
  });

  async function sync(key: string, signal: AbortSignal): Promise<void> {
    const hpa = autoscalers.get(parseKey(key));
    if (hpa === undefined) {
      histories.delete(key);
      selectors.delete(key);
      told.forget(parseKey(key));
      return;
    }
    const result: Look['result'] = { action: 'none', error: 'internal' };
    const startedMs = clock.monotonicMs();
    try {
      await reconcile({ hpa, key, draft: draftOf(hpa), nowMs: clock.nowMs(), signal, result });
    } finally {
      told.reconciled(result.action, result.error, (clock.monotonicMs() - startedMs) / 1000);
      loop.queue.addAfter(key, SYNC_PERIOD_MS);
    }
  }

  function say(look: Look, type: Parameters<typeof setCondition>[1], saying: Saying & { status: boolean }): void {
    setCondition(look.draft, type, { ...saying, nowMs: look.nowMs });
  }

  /** A look that came to nothing: told by an event and a condition, stored, and tried again at the next period. */
  async function giveUp(
    look: Look,
    type: 'AbleToScale' | 'ScalingActive',
    failure: Saying & { event?: Saying },
  ): Promise<void> {
    const event = failure.event ?? failure;
    look.result.error = SPEC_ERRORS.has(failure.reason) ? 'spec' : 'internal';
    recorder.event(look.hpa, 'Warning', event.reason, event.message);
    say(look, type, { status: false, reason: failure.reason, message: failure.message });
    await store(look);
  }

  async function reconcile(look: Look): Promise<void> {
    const { hpa, draft, nowMs, signal } = look;
    const { apiVersion = 'v1', kind, name } = hpa.spec.scaleTargetRef;
    const namespace = hpa.metadata.namespace ?? '';
    let target: ScaleTarget;
    try {
      target = await readScale(client, { namespace, apiVersion, kind, name }, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = `the HPA controller was unable to get the target's current scale: ${errorMessage(error)}`;
      return await giveUp(look, 'AbleToScale', {
        reason: 'FailedGetScale',
        message,
        event: { reason: 'FailedGetScale', message: errorMessage(error) },
      });
    }
    say(look, 'AbleToScale', {
      status: true,
      reason: 'SucceededGetScale',
      message: "the HPA controller was able to get the target's current scale",
    });
    const current = target.scale.spec?.replicas ?? 0;
    const history = historyOf(look.key, current, nowMs);
    const plan = await planSize(look, target, history);
    if (plan === undefined) return;
    if (plan.desired !== current) {
      if (!(await rescale(look, target, { ...plan, history }))) return;
      draft.lastScaleTime = formatTime(nowMs);
    }
    look.result.error = 'none';
    look.result.action = actionOf(current, plan.desired);
    draft.currentReplicas = current;
    draft.desiredReplicas = plan.desired;
    told.desired(hpa.metadata, plan.desired);
    await store(look);
  }

  function historyOf(key: string, current: number, nowMs: number): ScalingHistory {
    let history = histories.get(key);
    if (history === undefined) {
      history = emptyHistory();
      history.recommendations.push({ replicas: current, atMs: nowMs });
      histories.set(key, history);
    }
    return history;
  }

  async function planSize(
    look: Look,
    target: ScaleTarget,
    history: ScalingHistory,
  ): Promise<{ desired: number; why: string } | undefined> {
    const { spec } = look.hpa;
    const current = target.scale.spec?.replicas ?? 0;
    const { minReplicas = 1, maxReplicas } = spec;
    if (current === 0 && minReplicas !== 0) {
      say(look, 'ScalingActive', {
        status: false,
        reason: 'ScalingDisabled',
        message: 'scaling is disabled since the replica count of the target is zero',
      });
      return { desired: 0, why: '' };
    }
    if (current > maxReplicas)
      return { desired: maxReplicas, why: 'Current number of replicas above Spec.MaxReplicas' };
    if (current < minReplicas)
      return { desired: minReplicas, why: 'Current number of replicas below Spec.MinReplicas' };
    const wish = await wishOfMetrics(look, target);
    if (wish === undefined) return undefined;
    const asked = { current, desired: wish.replicas, nowMs: look.nowMs };
    const decision =
      spec.behavior === undefined
        ? decidePlain(spec, asked, { history, stabilizationMs: STABILIZATION_MS })
        : decideWithBehavior(spec, asked, history);
    const settled = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' };
    say(look, 'AbleToScale', { status: true, ...(decision.stabilized ?? settled) });
    say(look, 'ScalingLimited', { status: decision.limited.reason !== 'DesiredWithinRange', ...decision.limited });
    const grows = decision.replicas > current;
    return { desired: decision.replicas, why: grows ? `${wish.metric} above target` : 'All metrics below target' };
  }

  /** Undefined when no size can be told; that has been said then. */
  async function wishOfMetrics(look: Look, target: ScaleTarget): Promise<Wish | undefined> {
    const state = await evaluationState(look, target);
    if (state === undefined) return undefined;
    const current = state.currentReplicas;
    const found: Evaluation[] = [];
    let failure: MetricError | undefined;
    let failures = 0;
    const specs = look.hpa.spec.metrics ?? [];
    for (const spec of specs) {
      const startedMs = clock.monotonicMs();
      const computed = (action: ScaleAction, error: ScaleError): void =>
        told.computed({ action, error, metricType: spec.type, seconds: (clock.monotonicMs() - startedMs) / 1000 });
      try {
        const evaluation = await evaluateMetric(state, spec);
        found.push(evaluation);
        computed(actionOf(current, evaluation.replicas), 'none');
      } catch (error) {
        look.signal.throwIfAborted();
        computed('none', 'internal');
        if (!(error instanceof MetricError)) throw error;
        recorder.event(look.hpa, 'Warning', error.reason, error.message);
        failure ??= error;
        failures++;
      }
    }
    look.draft.currentMetrics = found.map(({ status }) => status);
    const highest = found.reduce((best, each) => (each.replicas > best.replicas ? each : best), {
      replicas: 0,
      name: '',
    });
    // What is known in part may make it larger, never smaller.
    if (failure !== undefined && (found.length === 0 || highest.replicas < current)) {
      look.draft.currentReplicas = current;
      await giveUp(look, 'ScalingActive', {
        reason: failure.reason,
        message: `the HPA was unable to compute the replica count: ${failure.message}`,
        event: {
          reason: 'FailedComputeMetricsReplicas',
          message: `invalid metrics (${failures} invalid out of ${specs.length}), first error is: ${failure.message}`,
        },
      });
      return undefined;
    }
    say(look, 'ScalingActive', {
      status: true,
      reason: 'ValidMetricFound',
      message: `the HPA was able to successfully calculate a replica count from ${highest.name}`,
    });
    return { replicas: highest.replicas, metric: highest.name };
  }

  async function evaluationState(look: Look, { scale }: ScaleTarget): Promise<EvaluationState | undefined> {
    const { hpa, key, signal } = look;
    const namespace = hpa.metadata.namespace ?? '';
    const podSelector = scale.status?.selector ?? '';
    if (podSelector === '') {
      await giveUp(look, 'ScalingActive', {
        reason: 'InvalidSelector',
        message: "the HPA target's scale is missing a selector",
        event: { reason: 'SelectorRequired', message: 'selector is required' },
      });
      return undefined;
    }
    const matcher = parseLabelSelector(podSelector);
    const selected = pods.list(namespace).filter((pod) => matcher.matches(pod.metadata.labels));
    selectors.set(key, podSelector);
    const rivals = rivalsOf(look, selected);
    if (rivals.length > 0) {
      const message = `pods by selector ${podSelector} are controlled by multiple HPAs: [${[key, ...rivals].join(' ')}]`;
      await giveUp(look, 'ScalingActive', { reason: 'AmbiguousSelector', message });
      return undefined;
    }
    const { scaleUp, scaleDown } = hpa.spec.behavior ?? {};
    return {
      namespace,
      podSelector,
      pods: selected,
      currentReplicas: scale.spec?.replicas ?? 0,
      statusReplicas: scale.status?.replicas ?? 0,
      nowMs: look.nowMs,
      tolerances: { scaleUp: tolerance(scaleUp?.tolerance), scaleDown: tolerance(scaleDown?.tolerance) },
      delays: DELAYS,
      metrics,
      groupResourceOf: async (apiVersion, kind) =>
        groupResourceOf(await resourceOfKind(client, { apiVersion, kind }, signal)),
      signal,
    };
  }

  /** Other autoscalers of the namespace whose last known selector takes one of these pods. */
  function rivalsOf(
    { hpa, key }: Look,
    selected: readonly { metadata: HorizontalPodAutoscaler['metadata'] }[],
  ): string[] {
    return autoscalers
      .list(hpa.metadata.namespace)
      .map(keyOfObject)
      .filter((other) => {
        const text = selectors.get(other);
        if (other === key || text === undefined) return false;
        const matcher = parseLabelSelector(text);
        return selected.some((pod) => matcher.matches(pod.metadata.labels));
      });
  }

  /** Whether the target has its new size now. */
  async function rescale(
    look: Look,
    target: ScaleTarget,
    { desired, why, history }: { desired: number; why: string; history: ScalingHistory },
  ): Promise<boolean> {
    const { hpa, nowMs, signal } = look;
    try {
      await writeScale(client, target, { replicas: desired, signal });
    } catch (error) {
      signal.throwIfAborted();
      look.draft.currentReplicas = target.scale.spec?.replicas ?? 0;
      await giveUp(look, 'AbleToScale', {
        reason: 'FailedUpdateScale',
        message: `the HPA controller was unable to update the target scale: ${errorMessage(error)}`,
        event: {
          reason: 'FailedRescale',
          message: `New size: ${desired}; reason: ${why}; error: ${errorMessage(error)}`,
        },
      });
      return false;
    }
    say(look, 'AbleToScale', {
      status: true,
      reason: 'SucceededRescale',
      message: `the HPA controller was able to update the target scale to ${desired}`,
    });
    recorder.event(hpa, 'Normal', 'SuccessfulRescale', `New size: ${desired}; reason: ${why}`);
    const change = desired - (target.scale.spec?.replicas ?? 0);
    (change > 0 ? history.ups : history.downs).push({ change: Math.abs(change), atMs: nowMs });
    return true;
  }

  async function store({ hpa, draft, signal }: Look): Promise<void> {
    if (equalStatus(draft, hpa.status)) return;
    await client
      .resource(HorizontalPodAutoscalers)
      .updateStatus({ ...hpa, status: draft }, { signal })
      .catch(ignoreNotFound);
  }

  let count = 0;
  autoscalers.addHandler({
    onAdd(hpa) {
      told.count(++count);
      loop.queue.add(keyOfObject(hpa));
    },
    onUpdate: (old, hpa) => {
      if (old.metadata.generation !== hpa.metadata.generation) loop.queue.add(keyOfObject(hpa));
    },
    onDelete(hpa) {
      told.count(--count);
      loop.queue.add(keyOfObject(hpa));
    },
  });
  return loop;
}

function tolerance(text: string | undefined): number {
  return text === undefined ? TOLERANCE : quantityAsFloat(text);
}
