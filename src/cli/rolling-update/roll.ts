/**
 * Replaces one ReplicationController by another, pod by pod, from the client's side, as the early releases did before there
 * were Deployments. Upstream: pkg/kubectl/rolling_updater.go. All state is in annotations of the two objects, so an update
 * that was interrupted goes on where it stopped.
 */
import { ReplicationControllers } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { ReplicationController } from '../../api/gen/core-v1.ts';
import type { Client, ResourceClient } from '../../client/client.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import type { Clock } from '../../platform/clock.ts';
import { UserError } from '../usage-error.ts';

/** Annotation of the new controller: desired number of pods. */
const DESIRED_REPLICAS = 'kubectl.kubernetes.io/desired-replicas';
/** Annotation of the old controller: original number of pods. */
const ORIGINAL_REPLICAS = 'kubectl.kubernetes.io/original-replicas';

export interface RollDeps {
  readonly client: Client;
  readonly clock: Clock;
  /** Prints a line for the user. */
  readonly print: (line: string) => void;
}

/** The controllers of an update, and its time limits. */
export interface RollRequest {
  readonly namespace: string;
  readonly oldName: string;
  readonly next: ReplicationController;
  /** Pause between steps. */
  readonly updatePeriodMs: number;
  readonly pollIntervalMs: number;
  /** Longest time for pods to start or stop. */
  readonly timeoutMs: number;
}

/** Runs the update to its end. Rejects with `UserError` when it cannot begin or a step takes too long. */
export async function rollingUpdate(deps: RollDeps, request: RollRequest, signal: AbortSignal): Promise<void> {
  const roller = new Roller(deps, request, signal);
  await roller.run();
}

class Roller {
  readonly #deps: RollDeps;
  readonly #request: RollRequest;
  readonly #signal: AbortSignal;
  readonly #controllers: ResourceClient<ReplicationController>;

  constructor(deps: RollDeps, request: RollRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    this.#controllers = deps.client.resource(ReplicationControllers);
  }

  async run(): Promise<void> {
    const { oldName, next } = this.#request;
    const newName = next.metadata.name ?? '';
    const { print } = this.#deps;
    const old = await this.#find(oldName);
    if (old === undefined) throw new UserError(`replicationcontrollers "${oldName}" not found`);
    checkPair(old, next);
    const current = (await this.#find(newName)) ?? (await this.#create(old));
    const desired = Number(current.metadata.annotations?.[DESIRED_REPLICAS] ?? sizeOf(current));
    const resumes = old.metadata.annotations?.[ORIGINAL_REPLICAS] !== undefined;
    const original = await this.#noteOriginal(old);
    const most = Math.max(desired, original);
    let [newSize, oldSize] = [sizeOf(current), sizeOf(old)];
    print(
      `Scaling up ${newName} from ${newSize} to ${desired}, scaling down ${oldName} from ${oldSize} to 0 ` +
        `(keep ${Math.min(desired, original)} pods available, don't exceed ${most + 1} pods)`,
    );
    // Pods of the step before the interruption may still be starting: the next step must not come on top of them.
    if (resumes) await this.#settled(newName, newSize);
    while (newSize < desired || oldSize > 0) {
      // Interrupted between the two halves of a step, there is one more already.
      if (newSize < desired && newSize + oldSize <= most) {
        newSize++;
        print(`Scaling ${newName} up to ${newSize}`);
        await this.#scale(newName, newSize);
      }
      if (oldSize > 0) {
        oldSize--;
        print(`Scaling ${oldName} down to ${oldSize}`);
        await this.#scale(oldName, oldSize);
      }
      if (newSize < desired || oldSize > 0) await this.#deps.clock.sleep(this.#request.updatePeriodMs, this.#signal);
    }
    print(`Update succeeded. Deleting ${oldName}`);
    await this.#annotate(newName, DESIRED_REPLICAS, null);
    await this.#remove(oldName);
  }

  async #find(name: string): Promise<ReplicationController | undefined> {
    try {
      return await this.#controllers.get({ namespace: this.#request.namespace, name }, { signal: this.#signal });
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async #create(old: ReplicationController): Promise<ReplicationController> {
    const { next, namespace } = this.#request;
    const desired = next.spec?.replicas ?? sizeOf(old);
    const annotations = { ...next.metadata.annotations, [DESIRED_REPLICAS]: String(desired) };
    const created = await this.#controllers.create(
      { ...next, metadata: { ...next.metadata, namespace, annotations }, spec: { ...next.spec, replicas: 0 } },
      { signal: this.#signal },
    );
    this.#deps.print(`Created ${created.metadata.name}`);
    return created;
  }

  /** Original size of the old controller, recorded before the first step. */
  async #noteOriginal(old: ReplicationController): Promise<number> {
    const noted = old.metadata.annotations?.[ORIGINAL_REPLICAS];
    if (noted !== undefined) {
      this.#deps.print(`Found existing update in progress (${this.#request.next.metadata.name ?? ''}), resuming.`);
      return Number(noted);
    }
    await this.#annotate(old.metadata.name ?? '', ORIGINAL_REPLICAS, String(sizeOf(old)));
    return sizeOf(old);
  }

  async #annotate(name: string, key: string, value: string | null): Promise<void> {
    const patch = { metadata: { annotations: { [key]: value } } };
    const { namespace } = this.#request;
    await this.#controllers.patch({ namespace, name }, { type: 'merge', patch }, { signal: this.#signal });
  }

  /** Scales a controller and waits until it has the desired number of pods, all ready. */
  async #scale(name: string, replicas: number): Promise<void> {
    const { clock } = this.#deps;
    const { namespace } = this.#request;
    await retryOnConflict(
      clock,
      async () => {
        const live = await this.#controllers.get({ namespace, name }, { signal: this.#signal });
        await this.#controllers.update({ ...live, spec: { ...live.spec, replicas } }, { signal: this.#signal });
      },
      this.#signal,
    );
    await this.#settled(name, replicas);
  }

  async #settled(name: string, replicas: number): Promise<void> {
    const { clock } = this.#deps;
    const { pollIntervalMs, timeoutMs } = this.#request;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    while (!hasSettled(await this.#find(name), replicas)) {
      if (clock.monotonicMs() >= deadlineMs)
        throw new UserError(
          `timed out waiting for ${name} to reach ${replicas} ready pods; run the same command to go on`,
        );
      await clock.sleep(pollIntervalMs, this.#signal);
    }
  }

  async #remove(name: string): Promise<void> {
    const { namespace } = this.#request;
    await this.#controllers.delete({ namespace, name }, { propagationPolicy: 'Background', signal: this.#signal });
  }
}

function sizeOf({ spec }: ReplicationController): number {
  return spec?.replicas ?? 1;
}

function hasSettled(controller: ReplicationController | undefined, replicas: number): boolean {
  if (controller === undefined) return false;
  const { metadata, status } = controller;
  const seen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return seen && status?.replicas === replicas && (status.readyReplicas ?? 0) === replicas;
}

/** Checks that the selectors differ; otherwise each controller would adopt the other's pods. */
function checkPair(old: ReplicationController, next: ReplicationController): void {
  const [oldName, newName] = [old.metadata.name ?? '', next.metadata.name ?? ''];
  if (newName === '') throw new UserError('the new replication controller has no name', 2);
  if (oldName === newName)
    throw new UserError(`${newName}: cannot have the same name as the existing ReplicationController ${oldName}`, 2);
  const before = old.spec?.selector ?? {};
  const after = next.spec?.selector ?? next.spec?.template?.metadata?.labels ?? {};
  const differs = Object.entries(after).some(([key, value]) => before[key] !== undefined && before[key] !== value);
  if (!differs)
    throw new UserError(`${newName}: must specify a matching key with non-equal value in Selector for ${oldName}`, 2);
}
