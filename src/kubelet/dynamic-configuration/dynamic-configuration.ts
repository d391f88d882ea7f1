/**
 * Dynamic kubelet configuration, enabled by `--dynamic-config-dir`: the node's `spec.configSource` names a ConfigMap,
 * which is fetched, stored on disk, used from the next start and reported in `status.config`. When it cannot be
 * loaded the last known good one is used; a configuration that ran for ten minutes becomes that. Upstream had it to
 * v1.23 (kubelet/kubeletconfig).
 *
 * Differs on purpose: another configuration restarts the kubelet within its process instead of ending it. Containers
 * keep running.
 */
import { fieldSelectorOf } from '../../api/field-selector.ts';
import { onAbort } from '../../base/abort.ts';
import type { ConfigMap, Node, NodeConfigSource, NodeConfigStatus } from '../../api/gen/core-v1.ts';
import { ConfigMaps, Nodes } from '../../api/gen/resources.ts';
import { StatusError } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import type { Informer } from '../../client/informer.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Random } from '../../platform/random.ts';
import type { KubeletConfigurationV1Beta1 } from '../configuration/fields.ts';
import { isSameSource, type Checkpoints, type ConfigurationSource } from './checkpoints.ts';
import { background } from '../../platform/unexpected.ts';

/** How long a configuration has to run until it is the last known good one. */
const TRIAL_MS = 600_000;
/** The delay before an assigned configuration that failed is tried again. */
const RETRY_MS = 30_000;

const NO_SUBFIELD = 'invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil';
const failed = (what: string): string => `failed to ${what} config, see Kubelet log for details`;

function syncReason(error: unknown): string {
  if (errorMessage(error) === NO_SUBFIELD) return NO_SUBFIELD;
  return error instanceof StatusError ? failed('download') : 'internal failure, see Kubelet log for details';
}

export interface DynamicConfigurationDeps {
  readonly checkpoints: Checkpoints;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Reads and validates the configuration in a file, or the local one. */
  readonly load: (path?: string) => Promise<KubeletConfigurationV1Beta1>;
}

/** The configuration of one kubelet process. */
export interface DynamicConfiguration {
  /** The configuration to start with. Rejects only when the local one is needed and invalid. */
  choose(): Promise<KubeletConfigurationV1Beta1>;
  /** Follows the node's spec.configSource and reports the result, until the signal aborts. */
  follow(node: { readonly client: Client; readonly nodeName: string }, signal: AbortSignal): void;
  /** Resolves when a configuration other than the chosen one must be started. */
  untilChanged(): Promise<void>;
}

export function createDynamicConfiguration(deps: DynamicConfigurationDeps): DynamicConfiguration {
  return new Dynamic(deps);
}

class Dynamic implements DynamicConfiguration {
  readonly #deps: DynamicConfigurationDeps;
  #assigned: ConfigurationSource | undefined;
  #lastKnownGood: ConfigurationSource | undefined;
  #active: ConfigurationSource | undefined;
  /** Why the assigned one could not be started. */
  #loadError: string | undefined;
  /** Why the assigned configuration could not be used. */
  #syncError: string | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(deps: DynamicConfigurationDeps) {
    this.#deps = deps;
  }

  async choose(): Promise<KubeletConfigurationV1Beta1> {
    const { checkpoints, load, log } = this.#deps;
    this.#changed = Promise.withResolvers<void>();
    this.#assigned = await checkpoints.read('assigned');
    this.#lastKnownGood = await checkpoints.read('last-known-good');
    this.#loadError = undefined;
    for (const source of [this.#assigned, this.#lastKnownGood]) {
      if (source === undefined) continue;
      this.#active = source;
      try {
        return await load(checkpoints.pathOf(source));
      } catch (error) {
        log.error('Failed to load a dynamic configuration', { err: error, source });
        this.#loadError ??= failed(errorMessage(error).includes('validate') ? 'validate' : 'load');
      }
    }
    this.#active = undefined;
    return await load();
  }

  untilChanged(): Promise<void> {
    return this.#changed.promise;
  }

  follow({ client, nodeName }: { readonly client: Client; readonly nodeName: string }, signal: AbortSignal): void {
    const informers = createInformerFactory({ client, ...this.#deps });
    const nodes = informers.informer(Nodes, { fieldSelector: `metadata.name=${nodeName}` });
    let maps: { readonly key: string; readonly stop: AbortController } | undefined;
    let running = Promise.resolve();
    // A single retry timer: each read of the node may fail again.
    let cancelRetry: (() => void) | undefined;
    const sync = (): void => {
      running = running.then(async () => {
        const node = nodes.get({ name: nodeName });
        if (signal.aborted || node === undefined) return;
        const source = node.spec?.configSource;
        const key = `${source?.configMap?.namespace ?? ''}/${source?.configMap?.name ?? ''}`;
        if (maps?.key !== key) {
          maps?.stop.abort();
          maps = { key, stop: new AbortController() };
          if (source?.configMap !== undefined)
            this.#watchMap({ client, source: source.configMap, sync }, AbortSignal.any([signal, maps.stop.signal]));
        }
        cancelRetry?.();
        const followed = await this.#sync(client, source);
        cancelRetry = followed || signal.aborted ? undefined : this.#deps.clock.setTimer(RETRY_MS, sync);
        await this.#reportStatus(client, node);
      });
    };
    nodes.addHandler({ onAdd: sync, onUpdate: sync });
    informers.start(signal);
    onAbort(signal, () => cancelRetry?.());
    this.#startTrial(sync, signal);
  }

  #watchMap(
    input: { client: Client; source: { namespace: string; name: string }; sync: () => void },
    signal: AbortSignal,
  ): void {
    const informers = createInformerFactory({ client: input.client, ...this.#deps });
    const { namespace, name } = input.source;
    const maps: Informer<ConfigMap> = informers.informer(ConfigMaps, {
      namespace,
      fieldSelector: fieldSelectorOf({ 'metadata.name': name }),
    });
    maps.addHandler({ onAdd: input.sync, onUpdate: input.sync, onDelete: input.sync });
    informers.start(signal);
  }

  /** Updates the assigned configuration on disk to the node's spec; false when that failed. */
  async #sync(client: Client, source: NodeConfigSource | undefined): Promise<boolean> {
    const { log } = this.#deps;
    try {
      await this.#assign(await this.#fetch(client, source));
      this.#syncError = undefined;
      return true;
    } catch (error) {
      log.error('Failed to sync the dynamic configuration', { err: error });
      this.#syncError = `failed to sync: ${syncReason(error)}`;
      return false;
    }
  }

  async #fetch(client: Client, source: NodeConfigSource | undefined): Promise<ConfigurationSource | undefined> {
    if (source === undefined) return undefined;
    if (source.configMap === undefined) throw new Error(NO_SUBFIELD);
    const { namespace, name, kubeletConfigKey } = source.configMap;
    const map = await client.resource(ConfigMaps).get({ namespace, name });
    const { uid = '', resourceVersion = '' } = map.metadata;
    const found = { namespace, name, uid, resourceVersion, kubeletConfigKey };
    if (!isSameSource(found, this.#assigned)) await this.#deps.checkpoints.save(found, map);
    return found;
  }

  async #assign(source: ConfigurationSource | undefined): Promise<void> {
    const { checkpoints, log } = this.#deps;
    if (isSameSource(source, this.#assigned)) return;
    // After a return to the local configuration, that one is the last known good one too.
    if (source === undefined) {
      await checkpoints.write('last-known-good', undefined);
      this.#lastKnownGood = undefined;
    }
    await checkpoints.write('assigned', source);
    this.#assigned = source;
    log.info('Another configuration is assigned: starting anew with it', { source });
    this.#changed.resolve();
  }

  #startTrial(sync: () => void, signal: AbortSignal): void {
    const { checkpoints, clock } = this.#deps;
    const onTrial = this.#active;
    if (onTrial === undefined || this.#loadError !== undefined || isSameSource(onTrial, this.#lastKnownGood)) return;
    const succeed = async (): Promise<void> => {
      if (signal.aborted || !isSameSource(onTrial, this.#assigned)) return;
      await checkpoints.write('last-known-good', onTrial);
      this.#lastKnownGood = onTrial;
      sync();
    };
    const cancel = clock.setTimer(TRIAL_MS, () =>
      background(this.#deps.log, 'the configuration on trial could not be kept', succeed()),
    );
    onAbort(signal, cancel);
  }

  async #reportStatus(client: Client, node: Node): Promise<void> {
    const config = this.#status();
    if (deepEqual(config ?? null, node.status?.config ?? null)) return;
    const { name = '' } = node.metadata;
    // A merge patch keeps fields it does not name, so removed ones are set to null.
    const none = { assigned: null, active: null, lastKnownGood: null, error: null };
    const patch = { status: { config: config === undefined ? null : { ...none, ...config } } };
    await client
      .resource(Nodes)
      .patch({ name }, { type: 'merge', patch }, { subresource: 'status' })
      .catch((error: unknown) => this.#deps.log.warn('Failed to tell of the configuration', { err: error }));
  }

  #status(): NodeConfigStatus | undefined {
    const error = this.#syncError ?? this.#loadError;
    const status = {
      assigned: this.#assigned && { configMap: this.#assigned },
      active: this.#active && { configMap: this.#active },
      lastKnownGood: this.#lastKnownGood && { configMap: this.#lastKnownGood },
      error,
    };
    return Object.keys(status).length === 0 ? undefined : status;
  }
}
