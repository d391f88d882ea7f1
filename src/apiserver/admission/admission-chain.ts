/** Runs admission plugins in order: first all that change, later all that judge. Upstream: apiserver/pkg/admission.chainAdmissionHandler. */
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from './contract.ts';

/** The plugins in the order they run. */
export class AdmissionChain {
  readonly #plugins: { readonly mutate: readonly AdmissionPlugin[]; readonly validate: readonly AdmissionPlugin[] };

  constructor(plugins: readonly AdmissionPlugin[]) {
    this.#plugins = {
      mutate: plugins.filter(({ mutate }) => mutate !== undefined),
      validate: plugins.filter(({ validate }) => validate !== undefined),
    };
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
    return this.#plugins.mutate.some(
      (plugin) => plugin.onlyRefuses !== true && plugin.handles(operation, resource, subresource),
    );
  }

  /** Lets the plugins judge the object as it will be stored. */
  validate(attributes: AdmissionAttributes): void | Promise<void> {
    return this.#run(attributes, 'validate', 0);
  }

  #run(attributes: AdmissionAttributes, step: 'mutate' | 'validate', from: number): void | Promise<void> {
    const { operation, resource, subresource } = attributes;
    const plugins = this.#plugins[step];
    for (let index = from; index < plugins.length; index++) {
      const plugin = plugins[index]!;
      if (!plugin.handles(operation, resource, subresource)) continue;
      const pending = plugin[step]!(attributes);
      if (pending instanceof Promise) return pending.then(() => this.#run(attributes, step, index + 1));
    }
  }
}
