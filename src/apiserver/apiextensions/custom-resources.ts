/**
 * Serves custom resources: accepts the names of definitions, adds and removes their resources, and deletes the
 * instances of deleted definitions. Upstream: the naming, establishing, API approval, finalizing and discovery
 * controllers of apiextensions-apiserver and its customresource handler.
 *
 * One keyed loop, level-triggered on the definitions. Invariants: a definition is Established only after its resource
 * is served; definitions in the store at start are served before the server is ready; when a definition changes, the
 * watches of its resource end, clients resume them, and no cache is lost.
 */
import type { Stored } from '../../api/object.ts';
import type { CustomResourceDefinition } from '../../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../../api/gen/resources.ts';
import type { CustomApi } from '../../api/openapi/custom.ts';
import { isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import { apiApprovalOf, isProtectedGroup } from '../../api/validation/api-approval.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { ResourceKey } from '../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import { acceptNames, establishedBefore } from './accepted-names.ts';
import { type ConditionState, isConditionTrue, withCondition, withoutCondition } from './conditions.ts';
import { customDefinitions, customInfo, customPrefix, type CustomParts } from './custom-definition.ts';
import { InstanceCleanup } from './instance-cleanup.ts';
import { ownStatus } from './server-status.ts';
import { background } from '../../platform/unexpected.ts';

export interface CustomResourcesDeps {
  readonly objects: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly parts: CustomParts;
  /** Replaces the definitions named by `replaces`; resolves when the new ones are served. */
  serve(definitions: readonly ResourceDefinition[], replaces: readonly ResourceKey[]): Promise<void>;
  /** Removes resources with their watches and the cache of their prefix. */
  withdraw(keys: readonly ResourceKey[], prefix: string): void;
  /** The store of a resource, served or not. */
  storeOf(key: ResourceKey): GenericStore | undefined;
}

interface ServedDefinition {
  readonly uid: string;
  /** The definition that the resource was made from. */
  readonly from: unknown;
  readonly keys: readonly ResourceKey[];
  readonly prefix: string;
  readonly apis: readonly CustomApi[];
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;

/** The custom resources of a server. */
export class CustomResources {
  readonly #deps: CustomResourcesDeps;
  readonly #served = new Map<string, ServedDefinition>();
  readonly #cleanup: InstanceCleanup;
  readonly #dirty = new Set<string>();
  readonly #retries = new Map<string, { delayMs: number; cancel: () => void }>();
  #unfollow: (() => void) | undefined;
  #working = false;

  constructor(deps: CustomResourcesDeps) {
    this.#deps = deps;
    const { storeOf, log } = deps;
    this.#cleanup = new InstanceCleanup({ storeOf, log, again: (name) => this.#mark(name) });
  }

  /** Served resources, for OpenAPI. */
  get apis(): CustomApi[] {
    return [...this.#served.values()].flatMap((served) => served.apis);
  }

  /** Serves the stored definitions, then follows changes. Resolves when every established definition is served. */
  async start(): Promise<void> {
    const { objects } = this.#deps;
    for (const { metadata } of objects.list(CustomResourceDefinitions)) this.#dirty.add(metadata.name);
    await this.#work();
    this.#unfollow = objects.onChange(CustomResourceDefinitions, (now, old) => {
      this.#mark((now ?? old)?.metadata.name ?? '');
    });
  }

  /** Stops following changes. Served resources stay served. */
  stop(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
    this.#dirty.clear();
    for (const { cancel } of this.#retries.values()) cancel();
    this.#retries.clear();
    this.#cleanup.stop();
  }

  #mark(name: string): void {
    this.#dirty.add(name);
    if (!this.#working && this.#unfollow !== undefined)
      background(this.#deps.log, 'custom resource definitions could not be reconciled', this.#work());
  }

  async #work(): Promise<void> {
    this.#working = true;
    // A set's iteration includes names that are added during it, also again after a deletion.
    for (const name of this.#dirty) {
      this.#dirty.delete(name);
      try {
        await this.#reconcile(name);
        this.#retries.get(name)?.cancel();
        this.#retries.delete(name);
      } catch (error) {
        this.#retryLater(name, error);
      }
    }
    this.#working = false;
  }

  #retryLater(name: string, error: unknown): void {
    const { clock, log } = this.#deps;
    log.warn('serving a custom resource failed, retrying later', { definition: name, err: error });
    const before = this.#retries.get(name);
    before?.cancel();
    const delayMs = before === undefined ? FIRST_RETRY_MS : Math.min(before.delayMs * 2, LAST_RETRY_MS);
    this.#retries.set(name, { delayMs, cancel: clock.setTimer(delayMs, () => this.#mark(name)) });
  }

  async #reconcile(name: string): Promise<void> {
    const { objects } = this.#deps;
    let definition = objects.get(CustomResourceDefinitions, '', name);
    if (definition === undefined || this.#served.get(name)?.uid !== definition.metadata.uid) this.#withdraw(name);
    if (definition === undefined) return this.#markGroup(name);
    const before = definition.status?.acceptedNames;
    const established = await this.#settleNames(definition);
    definition = established.definition;
    if (!deepEqual(before, definition.status?.acceptedNames)) this.#markGroup(name);
    if (established.state.status === 'True') await this.#serve(definition);
    definition = await this.#update(name, (current) => withCondition(current, established.state, this.#now()));
    if (definition !== undefined) await this.#cleanup.run(definition, this.#updates(name));
  }

  /** Writes the conditions of names and approval; returns the wanted state of Established. */
  async #settleNames(
    definition: Stored<CustomResourceDefinition>,
  ): Promise<{ definition: Stored<CustomResourceDefinition>; state: ConditionState }> {
    const { name } = definition.metadata;
    const settle = (current: CustomResourceDefinition): CustomResourceDefinition => {
      const { names, condition } = acceptNames(current, this.#othersOf(current));
      let next = withCondition(current, condition, this.#now());
      if (!deepEqual(names, next.status?.acceptedNames))
        next = { ...next, status: { ...next.status, acceptedNames: names } };
      if (condition.status !== 'True') next = withCondition(next, establishedBefore(next, false), this.#now());
      return this.#withApproval(next);
    };
    const settled = (await this.#update(name, settle)) ?? definition;
    return { definition: settled, state: establishedBefore(settled, isConditionTrue(settled, 'NamesAccepted')) };
  }

  #withApproval(definition: CustomResourceDefinition): CustomResourceDefinition {
    const type = 'KubernetesAPIApprovalPolicyConformant';
    if (!isProtectedGroup(definition.spec.group)) return withoutCondition(definition, type);
    const { state, message } = apiApprovalOf(definition.metadata.annotations);
    const status = state === 'ApprovedAnnotation' ? 'True' : 'False';
    return withCondition(definition, { type, status, reason: state, message }, this.#now());
  }

  #othersOf({ spec, metadata }: CustomResourceDefinition): CustomResourceDefinition[] {
    return this.#deps.objects
      .list(CustomResourceDefinitions)
      .filter((other) => other.spec.group === spec.group && other.metadata.uid !== metadata.uid);
  }

  /** Reconciles the definitions of the group whose names were refused, since a name has become free or taken. */
  #markGroup(name: string): void {
    const group = name.slice(name.indexOf('.') + 1);
    for (const other of this.#deps.objects.list(CustomResourceDefinitions)) {
      const waits = other.spec.group === group && !isConditionTrue(other, 'NamesAccepted');
      if (waits && other.metadata.name !== name) this.#dirty.add(other.metadata.name);
    }
  }

  async #update(
    name: string,
    change: (current: CustomResourceDefinition) => CustomResourceDefinition,
  ): Promise<Stored<CustomResourceDefinition> | undefined> {
    try {
      return await this.#deps.objects.guaranteedUpdate(CustomResourceDefinitions, '', name, (current) =>
        ownStatus(current, change(current), this.#now()),
      );
    } catch (error) {
      if (isReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #updates(name: string): Parameters<InstanceCleanup['run']>[1] {
    return {
      condition: async (state) => {
        await this.#update(name, (current) => withCondition(current, { type: 'Terminating', ...state }, this.#now()));
      },
    };
  }

  #now(): string {
    return formatTime(this.#deps.clock.nowMs());
  }

  async #serve(definition: Stored<CustomResourceDefinition>): Promise<void> {
    const { metadata, spec, status } = definition;
    const { name } = metadata;
    const from = [spec, status?.acceptedNames, isConditionTrue(definition, 'Terminating')];
    const before = this.#served.get(name);
    if (before !== undefined && deepEqual(before.from, from)) return;
    const definitions = customDefinitions(definition, this.#deps.parts);
    await this.#deps.serve(definitions, before?.keys ?? []);
    const apis = spec.versions
      .filter(({ served }) => served)
      .map((version) => ({
        info: customInfo(definition, version),
        schema: version.schema?.openAPIV3Schema,
        selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath),
      }))
      .filter(({ info }) => this.#deps.storeOf(info)?.definition.schema !== undefined);
    const isOwn = (key: ResourceKey): boolean => this.#deps.storeOf(key)?.definition.schema !== undefined;
    const keys = definitions.map(({ info }) => info).filter(isOwn);
    this.#served.set(name, { uid: metadata.uid, from, keys, prefix: customPrefix(definition), apis });
  }

  #withdraw(name: string): void {
    const served = this.#served.get(name);
    if (served === undefined) return;
    this.#served.delete(name);
    this.#cleanup.forget(name);
    this.#deps.withdraw(served.keys, served.prefix);
  }
}
