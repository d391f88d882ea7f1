/** Creates the services that resource definitions need, and the routes that belong to them. */
import type { TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import type { ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import type { Authorizer } from '../../apiserver/authz/contract.ts';
import type { RbacAuthorizer } from '../../apiserver/authz/rbac-authorizer.ts';
import { decide } from '../../apiserver/filters/authorization.ts';
import type { NonResourceRoute } from '../../apiserver/non-resource-routes.ts';
import { rangesOf } from '../../base/cidr.ts';
import { ServiceAllocator } from '../../apiserver/registry/core/services/service-allocator.ts';
import { createResourceDefinitions } from '../../apiserver/registry/list.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import { rulesReviewStatus } from '../../apiserver/registry/reviews/rules-review.ts';
import type { ResourceDefinition } from '../../apiserver/registry/resource-definition.ts';
import type { IssueServiceAccountToken, RegistryServices } from '../../apiserver/registry/services.ts';
import { createKubeletConnector } from '../../apiserver/streaming/kubelet-connector.ts';
import type { KubeletAccess } from '../../apiserver/streaming/kubelet-target.ts';
import type { KubeletTunnels } from '../../apiserver/streaming/tunnels/kubelet-tunnels.ts';
import type { ExplainPod } from '../../component-helpers/pod-why.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Store } from '../../storage/store.ts';
import type { Instance } from '../instance/instance.ts';
import { dnsAddress } from '../network/pod-network.ts';
import type { ServerSettings } from './server-settings.ts';
import { reviewToken } from './review-token.ts';
import { tokenRoutes } from './token-routes.ts';

export interface RegistryDeps {
  readonly platform: Platform;
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly tokens: ServiceAccountTokens;
  /** All kinds of tokens that the server accepts, for TokenReview. */
  readonly kinds: readonly TokenAuthenticator[];
  readonly rbac: RbacAuthorizer;
  readonly authorizers: readonly Authorizer[];
  readonly instance: Instance;
  readonly kubelets: KubeletAccess & { readonly tunnels: KubeletTunnels };
  /** The discovery document of service account tokens, and where their keys are served. */
  readonly discovery: Parameters<typeof tokenRoutes>[1];
  readonly settings: ServerSettings;
  /** Pages behind the API server's proxies get another origin than the server. */
  readonly isolatesPages: boolean;
  /** The scheduler's explanations, while it runs. */
  readonly explainPod: () => ExplainPod | undefined;
  readonly componentHealth: NonNullable<RegistryServices['componentHealth']>;
}

export interface Registry {
  readonly definitions: readonly ResourceDefinition[];
  readonly routes: readonly NonResourceRoute[];
  readonly kubelets: RegistryDeps['kubelets'];
  /**
   * Fills the allocators from stored objects and keeps them up to date. Call it when the caches are filled. Returns a
   * function that stops this.
   */
  start(): () => void;
}

export function createRegistry(deps: RegistryDeps): Registry {
  const { platform, objects, tokens, rbac, instance, settings } = deps;
  const serviceAllocator = new ServiceAllocator(
    {
      objects,
      random: platform.random.fork('allocator'),
      shared: deps.store.latestRevision && { store: deps.store, clock: platform.clock, log: platform.log },
    },
    {
      serviceClusterIpRanges: settings.serviceClusterIpRanges ?? rangesOf(instance.serviceCidr),
      // Without Keelson's DNS (ranges of a component's own flags, `--dns=none`) a Service of the user's may have this
      // address.
      dnsAddress:
        settings.serviceClusterIpRanges === undefined && instance.dns !== 'none'
          ? dnsAddress(instance.serviceCidr)
          : undefined,
      nodePortRange: settings.serviceNodePorts,
    },
  );
  const services: RegistryServices = {
    objects,
    platform,
    serviceAllocator,
    eventTtlSeconds: settings.eventTtlSeconds,
    explainPod: deps.explainPod,
    componentHealth: deps.componentHealth,
    authorizer: { authorize: (attributes) => decide(deps.authorizers, attributes) },
    issueServiceAccountToken: issuer(tokens),
    authenticateToken: (token, audiences) => reviewToken(deps, token, audiences),
    rulesFor: async (user, namespace) => rulesReviewStatus(rbac.rulesFor(user, namespace)),
    kubeletConnector: createKubeletConnector({
      ...deps.kubelets,
      net: platform.net,
      random: platform.random,
      crypto: platform.crypto,
      clock: platform.clock,
      isolatesPages: deps.isolatesPages,
    }),
  };
  return {
    definitions: createResourceDefinitions(services),
    routes: [...tokenRoutes(tokens, deps.discovery), deps.kubelets.tunnels.route],
    kubelets: deps.kubelets,
    start: () => serviceAllocator.start(),
  };
}

function issuer(tokens: ServiceAccountTokens): IssueServiceAccountToken {
  return (order) => {
    const { serviceAccount, bound } = order;
    const { audiences, expirationSeconds = 3600 } = order.request.spec ?? {};
    return tokens.issue({
      namespace: serviceAccount.metadata.namespace ?? '',
      account: serviceAccount,
      expirationSeconds: Number(expirationSeconds),
      audiences,
      bound: bound && { ...bound, ...(order.node === undefined ? {} : { node: order.node }) },
    });
  };
}
