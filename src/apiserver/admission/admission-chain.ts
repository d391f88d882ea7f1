/** Runs admission plugins in order: first all that change, later all that judge. Upstream: apiserver/pkg/admission.chainAdmissionHandler. */
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './contract.ts';

/** Plugins that requests of one kind concern. */
interface Concerned {
  readonly mutate: readonly AdmissionPlugin[];
  readonly validate: readonly AdmissionPlugin[];
}

/** The plugins in the order they run. */
export class AdmissionChain {
  readonly #plugins: readonly AdmissionPlugin[];
  /** By resource, then by operation and sub-resource: of thirty plugins three or four are concerned. */
  readonly #concerned = new WeakMap<ResourceInfo, Map<string, Concerned>>();

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = plugins;
  }

  #of(operation: AdmissionOperation, resource: ResourceInfo, subresource: string): Concerned {
    let known = this.#concerned.get(resource);
    if (known === undefined) this.#concerned.set(resource, (known = new Map()));
    const key = `${operation} ${subresource}`;
    let found = known.get(key);
    if (found === undefined) {
      const handling = this.#plugins.filter((plugin) => plugin.handles(operation, resource, subresource));
      const mutate = handling.filter((plugin) => plugin.mutate !== undefined);
      known.set(key, (found = { mutate, validate: handling.filter((plugin) => plugin.validate !== undefined) }));
    }
    return found;
  }

  /** Lets the plugins change the draft, twice when one of them asks for it. Throws or rejects with what a plugin refuses. */
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

  /** Lets the plugins judge the object as it will be stored. */
  validate(attributes: AdmissionAttributes): void | Promise<void> {
    return this.#run(attributes, 'validate', 0);
  }

  #run(attributes: AdmissionAttributes, step: 'mutate' | 'validate', from: number): void | Promise<void> {
    const { operation, resource, subresource } = attributes;
    const plugins = this.#of(operation, resource, subresource)[step];
    for (let index = from; index < plugins.length; index++) {
      const plugin = plugins[index]!;
      if (plugin.isIdle?.() === true) continue;
      const pending = plugin[step]!(attributes);
      if (pending instanceof Promise) return pending.then(() => this.#run(attributes, step, index + 1));
    }
  }
}
