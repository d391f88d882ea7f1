/**
 * The current webhooks of one kind of configuration in the order they are called: configurations by name, then as
 * listed. Rebuilt at the first request after a change. Upstream: admission/configuration and webhook accessors.
 */
import type { Stored } from '../../../api/object.ts';
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '../../../api/gen/admissionregistration-v1.ts';
import type { LabelSelector } from '../../../api/gen/meta-v1.ts';
import { compileLabelSelector, type LabelMatcher } from '../../../api/label-selector.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { ResolveService } from '../../webhook/service-resolver.ts';
import { targetOfClientConfig, type WebhookTarget } from '../../webhook/webhook-target.ts';

/** How many webhooks are matched against a request in one turn of the event loop. */
export const WEBHOOKS_PER_TURN = 16;

/** A webhook of either kind; `reinvocationPolicy` only in mutating ones. */
export type AnyWebhook = MutatingWebhook;

/** A configuration of either kind. */
export type AnyConfiguration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

/** One webhook with what is needed to call it. */
export interface ConfiguredWebhook {
  /** Identifies the webhook: configuration, name, and the number of preceding hooks with that name. */
  readonly uid: string;
  readonly configuration: string;
  readonly hook: AnyWebhook;
  readonly namespaces: LabelMatcher;
  readonly objects: LabelMatcher;
  /** Throws `WebhookTargetError`. */
  target(): WebhookTarget;
}

const NO_SELECTOR: LabelSelector = {};

/** Follows the configurations. Returns a function that gives the current webhooks. */
export function followWebhooks(
  objects: ObjectStore,
  info: ResourceInfo<AnyConfiguration>,
  resolve: ResolveService,
): () => readonly ConfiguredWebhook[] {
  let current: readonly ConfiguredWebhook[] | undefined;
  objects.onChange(info, () => (current = undefined));
  return () => (current ??= compile(objects.list(info), resolve));
}

function compile(configurations: readonly Stored<AnyConfiguration>[], resolve: ResolveService): ConfiguredWebhook[] {
  return configurations
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap(({ metadata, webhooks = [] }) => {
      const seen = new Map<string, number>();
      return webhooks.map((hook) => {
        const count = seen.get(hook.name) ?? 0;
        seen.set(hook.name, count + 1);
        return configured(metadata.name, hook, { count, resolve });
      });
    });
}

function configured(
  configuration: string,
  hook: AnyWebhook,
  { count, resolve }: { count: number; resolve: ResolveService },
): ConfiguredWebhook {
  let target: WebhookTarget | undefined;
  return {
    uid: `${configuration}/${hook.name}/${count}`,
    configuration,
    hook,
    get namespaces() {
      return compileLabelSelector(hook.namespaceSelector ?? NO_SELECTOR);
    },
    get objects() {
      return compileLabelSelector(hook.objectSelector ?? NO_SELECTOR);
    },
    target: () => (target ??= targetOfClientConfig(hook.clientConfig, resolve)),
  };
}
