/**
 * Rolls Deployments out over ReplicaSets. Upstream: pkg/controller/deployment.
 *
 * Watches: Deployments, ReplicaSets, pods (for Recreate). Writes alone: Deployment status and revision annotation, its
 * ReplicaSets. Each sync makes one step and relies on the change it causes to be called again.
 */
import { Deployments, Pods, ReplicaSets } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import type { Deployment, ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { claimObjects } from '../controller-ref-manager.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import { withCondition } from '../../component-helpers/workload-conditions.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps, type KeyedLoop } from '../controller.ts';
import { createDeploymentWriter, type DeploymentWriter } from './deployment-writer.ts';
import { resolveSets, type Rollout, type SetsContext } from './new-replica-set.ts';
import { desiredAnnotation, isRolling, replicasOf, statusSum } from './replica-math.ts';
import { activeSets, allOf, compareTemplates, splitSets } from './replica-sets.ts';
import { planRollback, rollbackRevision } from './rollback.ts';
import { cleanUpHistory, rollOnce, scaleOnly, scaleToZero } from './rollout.ts';
import {
  calculateStatus,
  condition,
  deadlineCheckMs,
  hasProgressDeadline,
  isComplete,
  progressing,
  rolloutStatus,
} from './status.ts';
import { watchSets } from './set-events.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';

const ACCOUNT = 'deployment-controller';
const WORKERS = 5;

export function createDeploymentController(deps: ControllerDeps): Controller {
  return new DeploymentController(deps).loop;
}

/** Upstream: deployment.DeploymentController. */
class DeploymentController {
  readonly #clock: Clock;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #deployments: Informer<Deployment>;
  readonly #sets: Informer<ReplicaSet>;
  readonly #pods: Informer<Pod>;
  readonly loop: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#clock = deps.platform.clock;
    this.#client = deps.clientFor(ACCOUNT);
    this.#recorder = deps.recorderFor(ACCOUNT);
    this.#deployments = deps.informers.informer(Deployments);
    this.#sets = deps.informers.informer(ReplicaSets);
    this.#pods = deps.informers.informer(Pods);
    this.loop = createKeyedLoop(deps, {
      name: 'deployment-controller',
      queueName: 'deployment',
      workers: WORKERS,
      informers: informerList(this.#deployments, this.#sets, this.#pods),
      sync: (key, signal) => this.#syncDeployment(key, signal),
      maxRetries: 15,
    });
    watchSets({
      platform: deps.platform,
      deployments: this.#deployments,
      sets: this.#sets,
      pods: this.#pods,
      enqueue: (key) => this.loop.queue.add(key),
    });
  }

  #nowMs(): number {
    return this.#clock.nowMs();
  }

  async #replicaSetsForDeployment(deployment: Stored<Deployment>, signal: AbortSignal): Promise<Stored<ReplicaSet>[]> {
    const selector = compileLabelSelector(deployment.spec?.selector);
    return await claimObjects(
      {
        client: this.#client,
        owner: deployment,
        ownerInfo: Deployments,
        selector,
        signal,
        pause: () => this.#clock.yield(),
      },
      { info: ReplicaSets, objects: this.#sets.list(deployment.metadata.namespace) },
    );
  }

  async #syncDeployment(key: string, signal: AbortSignal): Promise<void> {
    const cached = this.#deployments.get(parseKey(key));
    if (cached === undefined) return;
    const writer = createDeploymentWriter(this.#client, this.#recorder, signal);
    if (compileLabelSelector(cached.spec?.selector).isEverything) {
      writer.warn(cached, 'SelectingAll', 'This deployment is selecting all pods. A non-empty selector is required.');
      await writer.updateStatus(cached, { ...cached.status, observedGeneration: cached.metadata.generation ?? 0 });
      return;
    }
    const owned = await this.#replicaSetsForDeployment(cached, signal);
    await compareTemplates(cached, owned, () => this.#clock.yield());
    const context: SetsContext = { writer, nowMs: () => this.#nowMs() };
    if (cached.metadata.deletionTimestamp !== undefined) {
      await writer.updateStatus(cached, calculateStatus(cached, splitSets(cached, owned), this.#nowMs()));
      return;
    }
    const deployment = await this.#checkPausedConditions(writer, cached);
    const revision = rollbackRevision(deployment);
    if (revision !== undefined && deployment.spec?.paused !== true)
      return await this.#rollBack(context, deployment, { owned, revision });
    if (deployment.spec?.paused === true || this.#isScalingEvent(deployment, owned))
      return await this.#scaleWithoutRollout(context, deployment, owned);
    if (isRolling(deployment)) await this.#rolloutRolling(context, deployment, owned);
    else await this.#rolloutRecreate(context, deployment, owned);
  }

  /** Records pause and resume in the Progressing condition, so that the progress deadline stops meanwhile. */
  async #checkPausedConditions(writer: DeploymentWriter, deployment: Stored<Deployment>): Promise<Stored<Deployment>> {
    const current = progressing(deployment.status);
    if (!hasProgressDeadline(deployment) || current?.reason === 'ProgressDeadlineExceeded') return deployment;
    const paused = deployment.spec?.paused === true;
    if (paused === (current?.reason === 'DeploymentPaused')) return deployment;
    const fields = paused
      ? { reason: 'DeploymentPaused', message: 'Deployment is paused' }
      : { reason: 'DeploymentResumed', message: 'Deployment is resumed' };
    const conditions = withCondition(
      deployment.status?.conditions,
      condition({ type: 'Progressing', status: 'Unknown', ...fields }, this.#nowMs()),
    );
    return await writer.updateStatus(deployment, { ...deployment.status, conditions });
  }

  /** Restores the old template; the next sync rolls it out, as the rollback annotation is gone. */
  async #rollBack(
    context: SetsContext,
    deployment: Stored<Deployment>,
    { owned, revision }: { readonly owned: readonly Stored<ReplicaSet>[]; readonly revision: bigint },
  ): Promise<void> {
    const rollout = await resolveSets(context, { deployment, sets: owned, create: true });
    const plan = planRollback(rollout.deployment, allOf(rollout), revision);
    await context.writer.update(plan.deployment);
    if (plan.type === 'Normal') context.writer.note(deployment, plan.reason, plan.message);
    else context.writer.warn(deployment, plan.reason, plan.message);
  }

  #isScalingEvent(deployment: Stored<Deployment>, owned: readonly Stored<ReplicaSet>[]): boolean {
    return activeSets(owned).some((set) => {
      const noted = desiredAnnotation(set);
      return noted !== undefined && noted !== replicasOf(deployment);
    });
  }

  async #scaleWithoutRollout(
    context: SetsContext,
    deployment: Stored<Deployment>,
    owned: readonly Stored<ReplicaSet>[],
  ): Promise<void> {
    const rollout = await resolveSets(context, { deployment, sets: owned, create: false });
    await scaleOnly(context.writer, rollout);
    if (deployment.spec?.paused === true) await cleanUpHistory(context.writer, rollout);
    await context.writer.updateStatus(rollout.deployment, calculateStatus(rollout.deployment, rollout, this.#nowMs()));
  }

  async #rolloutRolling(
    context: SetsContext,
    deployment: Stored<Deployment>,
    owned: readonly Stored<ReplicaSet>[],
  ): Promise<void> {
    const rollout = await resolveSets(context, { deployment, sets: owned, create: true });
    const moved = await rollOnce(context.writer, rollout);
    if (!moved && isComplete(rollout.deployment, rollout.deployment.status ?? {}))
      await cleanUpHistory(context.writer, rollout);
    await this.#syncRolloutStatus(context, rollout);
  }

  async #rolloutRecreate(
    context: SetsContext,
    deployment: Stored<Deployment>,
    owned: readonly Stored<ReplicaSet>[],
  ): Promise<void> {
    let rollout = await resolveSets(context, { deployment, sets: owned, create: false });
    if (await scaleToZero(context.writer, rollout.deployment, rollout.oldSets))
      return await this.#syncRolloutStatus(context, rollout);
    if (this.#oldPodsRunning(rollout)) return await this.#syncRolloutStatus(context, rollout);
    if (rollout.newSet === undefined)
      rollout = await resolveSets(context, { deployment: rollout.deployment, sets: owned, create: true });
    const newSet = rollout.newSet as Stored<ReplicaSet>;
    if (replicasOf(newSet) !== replicasOf(deployment))
      await context.writer.scale(rollout.deployment, newSet, replicasOf(deployment));
    if (isComplete(rollout.deployment, rollout.deployment.status ?? {})) await cleanUpHistory(context.writer, rollout);
    await this.#syncRolloutStatus(context, rollout);
  }

  #oldPodsRunning({ deployment, newSet, oldSets }: Rollout): boolean {
    if (statusSum(oldSets, 'replicas') > 0) return true;
    const uids = new Set(oldSets.map((set) => set.metadata.uid));
    return this.#pods.list(deployment.metadata.namespace).some((pod: Pod) => {
      const owner = controllerOf(pod)?.uid;
      return owner !== undefined && owner !== newSet?.metadata.uid && uids.has(owner) && !isPodTerminal(pod);
    });
  }

  async #syncRolloutStatus(context: SetsContext, rollout: Rollout): Promise<void> {
    const { deployment } = rollout;
    const status = rolloutStatus(deployment, rollout, this.#nowMs());
    const written = await context.writer.updateStatus(deployment, status);
    const checkMs = deadlineCheckMs(written, status, this.#nowMs());
    if (checkMs !== undefined) this.loop.queue.addAfter(keyOfObject(deployment), checkMs);
  }
}
