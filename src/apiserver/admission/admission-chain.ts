/**
 * Runs admission plugins in order: first all that mutate, later all that validate. Upstream:
 * apiserver/pkg/admission.chainAdmissionHandler.
 */
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Clock } from '../../platform/clock.ts';
import { recordRefusal } from '../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './contract.ts';

/** The plugins that handle requests of one kind. */
interface HandlingPlugins {
  readonly mutate: readonly AdmissionPlugin[];
  readonly validate: readonly AdmissionPlugin[];
}

/** The plugins in the order they run. */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  readonly #clock: Clock;
  /** By resource, then by operation and sub-resource: of thirty plugins three or four handle a request. */
  readonly #concerned = new WeakMap<ResourceInfo, Map<string, HandlingPlugins>>();

  constructor(plugins: readonly AdmissionPlugin[], clock: Clock) {
    this.#plugins = plugins;
    this.#clock = clock;
  }

  #of(operation: AdmissionOperation, resource: ResourceInfo, subresource: string): HandlingPlugins {
    let existing = this.#concerned.get(resource);
    if (existing === undefined) this.#concerned.set(resource, (existing = new Map()));
    const key = `${operation} ${subresource}`;
    let handlingPlugins = existing.get(key);
    if (handlingPlugins === undefined) {
      const handling = this.#plugins.filter((plugin) => plugin.handles(operation, resource, subresource));
      const mutate = handling.filter((plugin) => plugin.mutate !== undefined);
      existing.set(
        key,
        (handlingPlugins = { mutate, validate: handling.filter((plugin) => plugin.validate !== undefined) }),
      );
    }
    return handlingPlugins;
  }

  /**
   * Runs the mutating plugins on the draft, twice when one of them asks for it. Throws or rejects with a plugin's
   * refusal.
   */
  mutate(attributes: AdmissionAttributes): void | Promise<void> {
    const first = this.#run(attributes, 'mutate', 0);
    return first instanceof Promise ? first.then(() => this.#again(attributes)) : this.#again(attributes);
  }

  #again(attributes: AdmissionAttributes): void | Promise<void> {
    const { reinvocation } = attributes;
    if (!reinvocation.wanted || reinvocation.round === 1) return;
    reinvocation.round = 1;
    return this.#run(attributes, 'mutate', 0);
  }

  /** Whether a plugin may change objects of such requests. */
  mutates(operation: AdmissionOperation, resource: ResourceInfo, subresource: string): boolean {
    return this.#of(operation, resource, subresource).mutate.some(
      (plugin) => plugin.onlyRefuses !== true && plugin.isIdle?.() !== true,
    );
  }

  /** Runs the validating plugins on the object as it will be stored. */
  validate(attributes: AdmissionAttributes): void | Promise<void> {
    return this.#run(attributes, 'validate', 0);
  }

  #run(attributes: AdmissionAttributes, step: Step, from: number): void | Promise<void> {
    const { operation, resource, subresource } = attributes;
    const plugins = this.#of(operation, resource, subresource)[step];
    for (let index = from; index < plugins.length; index++) {
      const plugin = plugins[index]!;
      if (plugin.isIdle?.() === true) continue;
      const pending = callPlugin(plugin, step, attributes);
      if (!(pending instanceof Promise)) continue;
      const startMs = this.#clock.monotonicMs();
      return pending.then(
        () => {
          attributes.context.addWait?.(plugin.name, this.#clock.monotonicMs() - startMs);
          return this.#run(attributes, step, index + 1);
        },
        (error: unknown) => {
          throw withPluginName(error, { plugin, step, attributes });
        },
      );
    }
  }
}

type Step = 'mutate' | 'validate';

function callPlugin(plugin: AdmissionPlugin, step: Step, attributes: AdmissionAttributes): void | Promise<void> {
  try {
    return plugin[step]!(attributes);
  } catch (error) {
    throw withPluginName(error, { plugin, step, attributes });
  }
}

function withPluginName(
  error: unknown,
  { plugin, step, attributes }: { plugin: AdmissionPlugin; step: Step; attributes: AdmissionAttributes },
): unknown {
  const owner = attributes.object?.metadata?.ownerReferences?.find(({ controller }) => controller === true);
  return recordRefusal(error, {
    part: step === 'mutate' ? 'mutatingAdmission' : 'validatingAdmission',
    plugin: plugin.name,
    ownerUid: owner?.uid,
  });
}
