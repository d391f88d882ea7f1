/**
 * Deletes the instances of a definition that is being deleted, and lets the definition go when there are none left.
 * Upstream: apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go, which looks every five seconds; here each
 * deletion in the resource's cache makes it look again.
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

  /** Looks after one definition; does nothing unless it is being deleted. */
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
        // The change brings us back here, once nothing new can be created any more.
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
    // A built-in resource of that name is not the definition's.
    return store?.definition.schema === undefined ? undefined : store;
  }

  /** Deletes what can be; true when nothing is left. Instances with finalizers of their own go when these do. */
  async #deleteAll(name: string, store: GenericStore): Promise<boolean> {
    const { cache, services } = store;
    if (!this.#waiting.has(name))
      this.#waiting.set(
        name,
        cache.listen(() => this.#deps.again(name)),
      );
    // Instances go whatever admission would say, and as they are stored: a webhook that converts them may be gone.
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

  /** Takes the finalizer off, and with the last one the definition. */
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

  /** No longer waits for the instances of a definition. */
  forget(name: string): void {
    this.#waiting.get(name)?.();
    this.#waiting.delete(name);
  }

  /** No longer waits for any. */
  stop(): void {
    for (const name of this.#waiting.keys()) this.forget(name);
  }
}
