/**
 * Creates the claims of pods with claim templates, removes ended pods from reservedFor, deallocates unused claims,
 * and deletes claims whose pod has ended. Upstream: pkg/controller/resourceclaim. Missing: reserving claims for pods
 * that bypass the scheduler.
 *
 * Watches: pods, claims, templates. Writes alone: claims owned by a pod, pods' resourceClaimStatuses.
 */
import type { Pod, PodResourceClaim } from '../../api/gen/core-v1.ts';
import type {
  ResourceClaim,
  ResourceClaimConsumerReference,
  ResourceClaimTemplate,
} from '../../api/gen/resource-v1.ts';
import { Pods, ResourceClaims, ResourceClaimTemplates } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { type Informer, onEveryChange } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import {
  CLAIM_FINALIZER,
  claimNameOf,
  claimNamesOf,
  EXTENDED_RESOURCE_CLAIM,
} from '../../component-helpers/resource-claims.ts';
import type { Counter, Metrics } from '../../platform/metrics.ts';
import { type Controller, type ControllerDeps, createKeyedLoop, informerList, type KeyedLoop } from '../controller.ts';

const NAME = 'resourceclaim-controller';
const ACCOUNT = 'resource-claim-controller';
/** Annotation of a claim created for a pod: the entry of the pod's resourceClaims. */
const POD_CLAIM_NAME = 'resource.kubernetes.io/pod-claim-name';
const CLAIMS_BY_OWNER = 'resource-claim-owner';
const PODS_BY_TEMPLATE = 'resource-claim-template';

export function createResourceClaimController(deps: ControllerDeps): Controller {
  return new ResourceClaimController(deps);
}

/** Upstream: resourceclaim.Controller. */
class ResourceClaimController implements Controller {
  readonly name = NAME;
  readonly #deps: ControllerDeps;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<ResourceClaim>;
  readonly #templates: Informer<ResourceClaimTemplate>;
  readonly #creations: Counter;
  readonly #loop: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#client = deps.clientFor(ACCOUNT);
    this.#recorder = deps.recorderFor('resource_claim');
    this.#pods = deps.informers.informer(Pods);
    this.#claims = deps.informers.informer(ResourceClaims);
    this.#templates = deps.informers.informer(ResourceClaimTemplates);
    this.#creations = deps.platform.metrics.counter({
      name: 'resourceclaim_controller_creates_total',
      help: 'Claims made for pods, by how that ended.',
      labels: ['status', 'admin_access'],
    });
    this.#loop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'resource_claim',
      workers: 10,
      informers: informerList(this.#pods, this.#claims, this.#templates),
      sync: (key, signal) =>
        key.startsWith('pod:')
          ? this.#syncPod(key.slice('pod:'.length), signal)
          : this.#syncClaim(key.slice('claim:'.length), signal),
    });
    this.#addHandlers();
  }

  async #syncPod(key: string, signal: AbortSignal): Promise<void> {
    const pod = this.#pods.get(parseKey(key));
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || isPodTerminal(pod)) return;
    const made: { name: string; resourceClaimName: string }[] = [];
    for (const podClaim of pod.spec?.resourceClaims ?? []) {
      if (podClaim.resourceClaimTemplateName === undefined || claimNameOf(pod, podClaim) !== undefined) continue;
      try {
        made.push({ name: podClaim.name, resourceClaimName: await this.#ensureClaim(pod, podClaim, signal) });
      } catch (error) {
        signal.throwIfAborted();
        const text = errorMessage(error);
        this.#recorder.event(
          pod,
          'Warning',
          'FailedResourceClaimCreation',
          `PodResourceClaim ${podClaim.name}: ${text}`,
        );
        throw error;
      }
    }
    if (made.length === 0) return;
    const { namespace, name, uid } = pod.metadata;
    const patch = { metadata: { uid }, status: { resourceClaimStatuses: made } };
    await this.#client
      .resource(Pods)
      .patch({ namespace, name }, { type: 'strategic', patch }, { subresource: 'status', signal });
  }

  /** The name of the pod's claim, which is created if necessary. */
  async #ensureClaim(pod: Stored<Pod>, podClaim: PodResourceClaim, signal: AbortSignal): Promise<string> {
    const resourceClaim = this.#claims
      .byIndex(CLAIMS_BY_OWNER, pod.metadata.uid)
      .find(
        ({ metadata }) =>
          metadata.annotations?.[POD_CLAIM_NAME] === podClaim.name && metadata.deletionTimestamp === undefined,
      );
    if (resourceClaim !== undefined) return resourceClaim.metadata.name;
    const { namespace, name, uid } = pod.metadata;
    const templateName = podClaim.resourceClaimTemplateName ?? '';
    const template = this.#templates.get({ namespace, name: templateName });
    if (template === undefined) throw new Error(`resource claim template "${templateName}": not found`);
    const { labels, annotations } = template.spec.metadata ?? {};
    const admin = { admin_access: String(hasAdminAccess(template.spec.spec)) };
    const making = this.#client.resource(ResourceClaims).create(
      {
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceClaim',
        metadata: {
          namespace,
          generateName: `${name}-${podClaim.name}-`,
          annotations: { ...annotations, [POD_CLAIM_NAME]: podClaim.name },
          ...(labels === undefined ? {} : { labels }),
          ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true, blockOwnerDeletion: true }],
        },
        spec: template.spec.spec,
      },
      { signal },
    );
    making.catch(() => this.#creations.inc({ status: 'failure', ...admin }));
    const created = await making;
    this.#creations.inc({ status: 'success', ...admin });
    // The server generates the name: without the claim in its cache the next sync would create another.
    await this.#claims.waitForRevision(created.metadata.resourceVersion, signal);
    return created.metadata.name;
  }

  async #syncClaim(key: string, signal: AbortSignal): Promise<void> {
    const claim = this.#claims.get(parseKey(key));
    if (claim === undefined) return;
    const before = claim.status?.reservedFor ?? [];
    const still = before.filter((consumer) => this.#uses(claim, consumer));
    const isAllocated = claim.status?.allocation !== undefined;
    const guarded = (claim.metadata.finalizers ?? []).includes(CLAIM_FINALIZER);
    const giveBack =
      still.length === 0 && isAllocated && (before.length > 0 || claim.metadata.deletionTimestamp !== undefined);
    if (still.length < before.length || giveBack) {
      const { namespace, name, uid, resourceVersion } = claim.metadata;
      const status = {
        reservedFor: still.length === 0 ? null : still,
        ...(giveBack && { allocation: null, devices: null }),
      };
      const patch = { metadata: { uid, resourceVersion }, status };
      await this.#client
        .resource(ResourceClaims)
        .patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status', signal });
      return; // the event of this write continues the sync
    }
    if (still.length === 0 && !isAllocated && guarded) return this.#removeFinalizer(claim, signal);
    if (still.length === 0 && claim.metadata.deletionTimestamp === undefined && this.#ownerIsDone(claim))
      await this.#remove(claim, signal);
  }

  async #removeFinalizer(claim: Stored<ResourceClaim>, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid, resourceVersion, finalizers = [] } = claim.metadata;
    const metadata = { uid, resourceVersion, finalizers: finalizers.filter((each) => each !== CLAIM_FINALIZER) };
    await this.#client
      .resource(ResourceClaims)
      .patch({ namespace, name }, { type: 'merge', patch: { metadata } }, { signal });
  }

  async #remove(claim: Stored<ResourceClaim>, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = claim.metadata;
    await this.#client
      .resource(ResourceClaims)
      .delete({ namespace, name }, { preconditions: { uid }, signal })
      .catch(ignoreNotFound);
  }

  /** Whether the consumer is a pod that may still use the claim. Other consumers are not this controller's. */
  #uses(claim: Stored<ResourceClaim>, { resource, apiGroup = '', name, uid }: ResourceClaimConsumerReference): boolean {
    if (resource !== 'pods' || apiGroup !== '') return true;
    const pod = this.#pods.get({ namespace: claim.metadata.namespace, name });
    return pod !== undefined && pod.metadata.uid === uid && !isDone(pod);
  }

  #ownerIsDone(claim: Stored<ResourceClaim>): boolean {
    const owner = controllerOf(claim);
    if (owner?.kind !== 'Pod') return false;
    const pod = this.#pods.get({ namespace: claim.metadata.namespace, name: owner.name });
    return pod !== undefined && pod.metadata.uid === owner.uid && isDone(pod);
  }

  #enqueueClaim(claim: ResourceClaim): void {
    this.#loop.queue.add(`claim:${keyOfObject(claim)}`);
  }

  #enqueuePod(pod: Stored<Pod>): void {
    if ((pod.spec?.resourceClaims ?? []).length > 0) this.#loop.queue.add(`pod:${keyOfObject(pod)}`);
    for (const name of claimNamesOf(pod)) this.#loop.queue.add(`claim:${pod.metadata.namespace}/${name}`);
  }

  async start(signal: AbortSignal): Promise<void> {
    const endCounts = exposeClaims(this.#deps.platform.metrics, this.#claims);
    await this.#loop.start(signal).finally(endCounts);
  }

  #addHandlers(): void {
    this.#claims.addIndex(CLAIMS_BY_OWNER, (claim) => {
      const owner = controllerOf(claim);
      return owner?.kind === 'Pod' ? [owner.uid] : [];
    });
    this.#pods.addIndex(PODS_BY_TEMPLATE, (pod) =>
      (pod.spec?.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) =>
        name === undefined ? [] : [`${pod.metadata.namespace}/${name}`],
      ),
    );
    this.#pods.addHandler(onEveryChange((pod) => this.#enqueuePod(pod)));
    this.#claims.addHandler({
      onAdd: (claim) => this.#enqueueClaim(claim),
      onUpdate: (_, claim) => this.#enqueueClaim(claim),
    });
    this.#templates.addHandler({
      onAdd: (template) =>
        this.#pods.byIndex(PODS_BY_TEMPLATE, keyOfObject(template)).forEach((pod) => this.#enqueuePod(pod)),
    });
  }
}

/** Counts the claims at each exposition. Returns a function that stops it. */
function exposeClaims(metrics: Metrics, claims: Informer<ResourceClaim>): () => void {
  const labels = ['allocated', 'admin_access', 'source'];
  const gauge = metrics.gauge({ name: 'resourceclaim_controller_resource_claims', help: 'Claims there are.', labels });
  let known: Record<string, string>[] = [];
  const forget = (): void => known.forEach((labelSet) => gauge.remove(labelSet));
  const end = metrics.beforeExpose(() => {
    forget();
    const groups = Map.groupBy(claims.list(), ({ metadata, spec, status }) =>
      JSON.stringify({
        allocated: String(status?.allocation !== undefined),
        admin_access: String(hasAdminAccess(spec)),
        source: sourceOf(metadata.annotations),
      }),
    );
    known = [...groups.keys()].map((text) => JSON.parse(text) as Record<string, string>);
    for (const [at, group] of [...groups.values()].entries()) gauge.set(group.length, known[at]);
  });
  return () => {
    end();
    forget();
  };
}

function sourceOf(annotations: Readonly<Record<string, string>> = {}): string {
  if (annotations[POD_CLAIM_NAME] !== undefined) return 'resource_claim_template';
  return annotations[EXTENDED_RESOURCE_CLAIM] === 'true' ? 'extended_resource' : '';
}

function hasAdminAccess({ devices }: ResourceClaim['spec']): boolean {
  return (devices?.requests ?? []).some(({ exactly }) => exactly?.adminAccess === true);
}

/** Whether the pod will not run any more: it has ended, or was deleted before it was scheduled. */
function isDone(pod: Pod): boolean {
  return isPodTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && (pod.spec?.nodeName ?? '') === '');
}
