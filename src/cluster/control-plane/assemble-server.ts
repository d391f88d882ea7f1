/** The API server of a control plane, with its tokens, admission plugins and the metrics API. */
import type { BuiltInApi } from '../../apiserver/aggregation/built-in-api.ts';
import { createMetricsApi } from '../../apiserver/metrics-api/metrics-api.ts';
import { createUsageSource } from '../../apiserver/metrics-api/usage-source.ts';
import { createAdmissionPlugins } from '../../apiserver/admission/list.ts';
import { createPostConversionReview } from '../../apiserver/apiextensions/post-conversion-review.ts';
import { PodRequests } from '../../apiserver/tracing/pod-requests.ts';
import type { ObjectView } from '../../apiserver/object-views.ts';
import { podActivityView } from '../../apiserver/pod-activity-view.ts';
import { podStateView } from '../../apiserver/pod-state-view.ts';
import { podTraceView } from '../../apiserver/tracing/pod-trace-view.ts';
import { createApiServer } from '../../apiserver/api-server.ts';
import type { ApiServer, ApiServerConfig, ApiServerDeps } from '../../apiserver/api-server-contract.ts';
import { createBearerTokenAuthenticator, type TokenAuthenticator } from '../../apiserver/authn/bearer-token.ts';
import { createConsole } from '../../apiserver/console/console.ts';
import { createServiceAccountTokens, type ServiceAccountTokens } from '../../apiserver/authn/service-account-tokens.ts';
import { type RbacAuthorizer } from '../../apiserver/authz/rbac-authorizer.ts';
import { COMPACTION_PERIOD_MS } from '../../apiserver/compaction.ts';
import { decide } from '../../apiserver/filters/authorization.ts';
import { versionInfo } from '../../apiserver/routes/server-info.ts';
import type { Authorizer } from '../../apiserver/authz/contract.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { KubeletAccess } from '../../apiserver/streaming/kubelet-target.ts';
import { type ServerStorage } from '../../apiserver/server-storage.ts';
import { authenticatorsOf } from './authentication.ts';
import { defaultIssuer } from '../instance/host-address.ts';
import { reachView } from '../reach/reach-view.ts';
import { CallerAnswers } from '../why/caller-answers.ts';
import { whyRoutes } from '../why/why-routes.ts';
import { type GracefulShutdown } from './leaving.ts';
import type { ServedNames } from './served-names.ts';
import { type Registry } from './registry-services.ts';
import type { BuiltInComponents } from './built-in-components.ts';
import type { ControlPlaneDeps } from './control-plane-deps.ts';

export function issuerOf({ settings, instance }: ControlPlaneDeps): string {
  return settings?.tokens?.issuers[0] ?? defaultIssuer(instance);
}

/** The issuer and checker of service-account tokens. */
export function createTokens(deps: ControlPlaneDeps, objects: () => ObjectStore): ServiceAccountTokens {
  const { platform, pki } = deps;
  const issuer = issuerOf(deps);
  const chosen = deps.settings?.tokens;
  const own = createServiceAccountTokens(
    { platform, objects },
    {
      issuer,
      acceptedIssuers: chosen?.issuers.slice(1) ?? [],
      audiences: chosen?.audiences ?? [issuer],
      ...chosen?.lifetimes,
      keys: chosen?.keys ?? [pki.serviceAccount],
    },
  );
  return deps.wrapTokens?.(own) ?? own;
}

export interface ServerParts {
  readonly storage: ServerStorage;
  readonly kinds: readonly TokenAuthenticator[];
  readonly rbac: RbacAuthorizer;
  readonly authorizers: readonly Authorizer[];
  readonly registry: Registry;
  readonly leaving: GracefulShutdown;
  /** The components of this process. */
  readonly local: () => Pick<BuiltInComponents, 'schedulerSteps'>;
  readonly servedNames: ServedNames;
}

export function assembleServer(deps: ControlPlaneDeps, input: ServerParts): ApiServer {
  const { platform, setup } = deps;
  const { storage, kinds, rbac, authorizers, registry, leaving, servedNames } = input;
  const { kubelets } = registry;
  const { clock } = platform;
  setup?.useClientAuthority?.(deps.pki.ca.certPem);
  const bearer = createBearerTokenAuthenticator(kinds, { clock, log: platform.log.child('authentication') });
  const signIn = setup?.consoleSignIn && { ...setup.consoleSignIn, servingNames: () => servedNames.names() };
  const console = deps.console && createConsole(deps.console, { tokens: bearer, signIn });
  const callerWork = new CallerAnswers({ handler: () => server.handler, clock });
  const why = whyRoutes(callerWork);
  const { views, ...traced } = traces(deps, input);
  const server = createApiServer(
    {
      storage,
      platform,
      eventLoop: platform.eventLoop,
      definitions: registry.definitions,
      authenticators: authenticatorsOf({ bearer, console: console?.authenticator }, setup),
      authorizers: [console?.authorizer, ...authorizers].filter((one) => one !== undefined),
      admission: createAdmissionPlugins(
        {
          objects: () => storage.objects,
          registry: storage.registry,
          net: platform.net,
          crypto: platform.crypto,
          log: platform.log.child('apiserver'),
          metrics: platform.metrics,
          random: platform.random.fork('admission'),
          authorizer: { authorize: (attributes) => decide(authorizers, attributes) },
          rulesFor: rbac.rulesFor,
          clock,
          config: setup?.admission.config,
        },
        setup?.admission.plugins,
      ),
      healthChecks: [leaving.check],
      ...traced,
      views: [...views, why.view, reachView(callerWork)],
      routes: [
        ...registry.routes,
        why.trouble,
        deps.serverJoin,
        ...(console?.routes ?? []),
        ...(deps.routes ?? []),
      ].filter((route) => route !== undefined),
      aggregation: aggregation(deps, kubelets),
      charts: deps.console && { ...platform, ...kubelets, log: platform.log.child('charts') },
      auditor: setup?.auditor,
      postConversionReview: createPostConversionReview({
        ...platform,
        objects: () => storage.objects,
        random: platform.random.fork('conversion-endpoints'),
      }),
    },
    configOf(deps),
  );
  return server;
}

function configOf({ settings = {}, hostAddress, instance, runtimeConfig }: ControlPlaneDeps): ApiServerConfig {
  return {
    version: versionInfo({
      compiler: `node ${process.versions.node}`,
      platform: `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`,
    }),
    serverAddress: `${hostAddress}:${instance.httpsPort}`,
    runtimeConfig,
    maxRequestsInFlight: settings.maxRequestsInFlight ?? 400,
    maxMutatingRequestsInFlight: settings.maxMutatingRequestsInFlight ?? 200,
    priorityAndFairness: settings.priorityAndFairness ?? true,
    compactionPeriodMs: settings.compactionPeriodMs ?? COMPACTION_PERIOD_MS,
    requestTimeoutMs: settings.requestTimeoutMs,
    minRequestTimeoutMs: settings.http?.minRequestTimeoutMs,
  };
}

/** Views of pods (timelines, and kubelets' state), and the tracer of requests. */
function traces(
  deps: ControlPlaneDeps,
  { registry: { kubelets }, local }: ServerParts,
): Pick<ApiServerDeps, 'podRequests' | 'tracer'> & { readonly views: readonly ObjectView[] } {
  const podRequests = new PodRequests(deps.platform.clock);
  const schedulerSteps = () => local().schedulerSteps();
  const asking = { ...deps.platform, ...kubelets };
  const views = [
    podTraceView({ ...asking, podRequests, schedulerSteps }),
    podStateView(asking),
    podActivityView(asking),
  ];
  return { podRequests, tracer: deps.setup?.tracing?.tracer, views };
}

/** The aggregator, and the metrics API that this server serves itself. */
function aggregation(deps: ControlPlaneDeps, kubelets: KubeletAccess): NonNullable<ApiServerDeps['aggregation']> {
  return {
    net: deps.platform.net,
    identity: () => {
      const { certPem, keyPem } = deps.pki.frontProxy ?? {};
      return certPem === undefined || keyPem === undefined ? {} : { certPem, keyPem };
    },
    builtIns: deps.settings?.metricsApi === false ? [] : [metricsApi(deps, kubelets)],
    rejectsRedirects: deps.settings?.rejectForwardingRedirects ?? true,
    isolatesPages: deps.console !== undefined,
  };
}

function metricsApi({ platform }: ControlPlaneDeps, kubelets: KubeletAccess): BuiltInApi {
  const usage = createUsageSource({ ...platform, ...kubelets, log: platform.log.child('metrics-api') });
  return createMetricsApi({ objects: kubelets.objects, usage });
}
