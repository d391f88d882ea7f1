/**
 * Deletes the instances of a definition that is being deleted, and removes the definition's finalizer when there are
 * none left. Upstream: apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go, which polls every five
 * seconds; here each deletion in the resource's cache triggers a check.
 */
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Principal } from '../../api/transport.ts';
import type { Log } from '../../platform/log.ts';
import { AdmissionChain } from '../admission/admission-chain.ts';
import { deleteObjects } from '../generic-registry/delete.ts';
import { GenericStore } from '../generic-registry/generic-store.ts';
import { removeObject } from '../generic-registry/remove.ts';
import type { ResourceKey } from '../generic-registry/resource-registry.ts';
import type { RequestContext } from '../request-context.ts';
import { putObject } from '../generic-registry/write.ts';
import { CUSTOM_RESOURCE_CLEANUP_FINALIZER } from '../registry/apiextensions/definition.ts';
import { isConditionTrue, type ConditionState } from './conditions.ts';

export interface InstanceCleanupDeps {
  readonly log: Log;
  storeOf(key: ResourceKey): GenericStore | undefined;
  /** Reconciles a definition again. */
  again(name: string): void;
}

/** Writes to the definition. */
export interface DefinitionWriter {
  /** Sets the Terminating condition. */
  condition(state: Omit<ConditionState, 'type'>): Promise<void>;
}

const USER: Principal = { name: 'system:apiserver', groups: ['system:masters'] };

const context: RequestContext = {
  info: {
    isResourceRequest: false,
    path: '',
    verb: 'delete',
    apiGroup: '',
    apiVersion: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    rest: '',
  },
  user: USER,
  signal: new AbortController().signal,
  userAgent: 'keelson',
  addWarning: () => undefined,
  addAuditAnnotation: () => undefined,
};

/** The cleanup of all definitions. */
export class InstanceCleanup {
  readonly #deps: InstanceCleanupDeps;
  readonly #waiting = new Map<string, () => void>();

  constructor(deps: InstanceCleanupDeps) {
    this.#deps = deps;
  }

  /** Cleans up one definition; does nothing unless it is being deleted. */
  async run(definition: CustomResourceDefinition, writer: DefinitionWriter): Promise<void> {
    const { deletionTimestamp, finalizers = [], name = '' } = definition.metadata;
    if (deletionTimestamp === undefined || !finalizers.includes(CUSTOM_RESOURCE_CLEANUP_FINALIZER)) return;
    const instances = this.#instancesOf(definition);
    if (instances === undefined) {
      await writer.condition({
        status: 'False',
        reason: 'NeverEstablished',
        message: 'resource was never established',
      });
    } else {
      if (!isConditionTrue(definition, 'Terminating')) {
        const message = 'CustomResource deletion is in progress';
        // This change triggers another reconciliation, after which nothing new can be created.
        return await writer.condition({ status: 'True', reason: 'InstanceDeletionInProgress', message });
      }
      if (!(await this.#deleteAll(name, instances))) return;
      const message = 'removed all instances';
      await writer.condition({ status: 'False', reason: 'InstanceDeletionCompleted', message });
    }
    this.forget(name);
    await this.#release(name);
  }

  /** The store of the stored version; undefined when nothing was ever served. */
  #instancesOf({ spec, status }: CustomResourceDefinition): GenericStore | undefined {
    if (!(status?.conditions ?? []).some(({ type, status: is }) => type === 'Established' && is === 'True'))
      return undefined;
    const stored = spec.versions.find(({ storage }) => storage);
    const store = this.#deps.storeOf({ group: spec.group, version: stored?.name ?? '', resource: spec.names.plural });
    // A built-in resource with that name does not belong to the definition.
    return store?.definition.schema === undefined ? undefined : store;
  }

  /** Deletes the instances; true when none is left. Instances with finalizers are removed once those are gone. */
  async #deleteAll(name: string, store: GenericStore): Promise<boolean> {
    const { cache, services } = store;
    if (!this.#waiting.has(name))
      this.#waiting.set(
        name,
        cache.listen(() => this.#deps.again(name)),
      );
    // Without admission and without conversion, whose webhooks may no longer exist.
    const plain = { ...store.definition, reading: { key: 'stored', read: (stored: KubernetesObject) => stored } };
    const free = new GenericStore(plain, plain, { ...services, admission: new AdmissionChain([], services.clock) });
    const names = cache
      .list(cache.prefix)
      .map((cell) => cell.object().metadata)
      .filter(({ deletionTimestamp }) => deletionTimestamp === undefined)
      .map(({ namespace = '', name: one = '' }) => ({ namespace, name: one }));
    await deleteObjects(free, names, { context, dryRun: false, manager: '', options: {} });
    return cache.size === 0;
  }

  /** Removes the finalizer, and with the last one the definition. */
  async #release(name: string): Promise<void> {
    const store = this.#deps.storeOf(CustomResourceDefinitions);
    const key = store?.keyOf({ namespace: '', name });
    const current = key === undefined ? undefined : store?.cache.get(key);
    if (store === undefined || key === undefined || current === undefined) return;
    const object = store.object(current);
    const finalizers = (object.metadata.finalizers ?? []).filter((one) => one !== CUSTOM_RESOURCE_CLEANUP_FINALIZER);
    const next = { ...object, metadata: { ...object.metadata, finalizers } };
    const outcome =
      finalizers.length === 0
        ? await removeObject(store, { key, current, object, request: undefined })
        : await putObject(store, { key, object: next, expect: current.revision, created: false });
    if ('lost' in outcome) this.#deps.again(name);
  }

  /** Stops waiting for the instances of a definition. */
  forget(name: string): void {
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
  }

  /** Stops waiting for all definitions. */
  stop(): void {
    for (const name of this.#waiting.keys()) this.forget(name);
  }
}
