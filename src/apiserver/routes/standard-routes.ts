/**
 * The paths of every server besides its resources: discovery, OpenAPI, health, version and metrics. Upstream:
 * pkg/server/routes.
 */
import type { Info } from '../../api/gen/version.ts';
import { createCustomDocuments } from '../../api/openapi/custom.ts';
import { apiVersionOf } from '../../api/resource-info.ts';
import { stepByStep } from '../../base/steps.ts';
import type { BasePlatform } from '../../platform/platform.ts';
import type { Aggregator } from '../aggregation/aggregator.ts';
import type { CustomResources } from '../apiextensions/custom-resources.ts';
import { discoveryRoutes } from '../discovery/discovery-routes.ts';
import type { RunningWatches } from '../endpoints/running-watches.ts';
import { flowDebugRoutes } from '../flowcontrol/debug-routes.ts';
import type { FlowController } from '../flowcontrol/flow-controller.ts';
import { type NonResourceRoute, RouteTable } from '../non-resource-routes.ts';
import type { RefusedRequests } from '../refused-requests/refused-requests.ts';
import { refusedRequestRoutes } from '../refused-requests/routes.ts';
import type { RequestMetrics } from '../request-metrics.ts';
import type { ServerStorage } from '../server-storage.ts';
import { type HealthCheck, healthRoutes } from './health.ts';
import { openApiRoutes } from './openapi.ts';
import { serverInfoRoutes } from './server-info.ts';

export interface StandardRoutesDeps {
  readonly storage: ServerStorage;
  readonly platform: BasePlatform;
  readonly metrics: RequestMetrics;
  readonly watches: RunningWatches;
  readonly custom: CustomResources;
  readonly aggregator: Aggregator | undefined;
  readonly fairness: FlowController | undefined;
  readonly refused: RefusedRequests;
  healthChecks(): HealthCheck[];
  readonly further: readonly NonResourceRoute[];
  readonly version: Info;
  /** `host:port` clients reach the server at. */
  readonly serverAddress: string;
}

export function standardRoutes(deps: StandardRoutesDeps): RouteTable {
  const { storage, platform, metrics, aggregator, fairness, version } = deps;
  const { registry } = storage;
  const { clock } = platform;
  const documents = createCustomDocuments(version.gitVersion);
  const routes = new RouteTable();
  const ownMetrics = async (): Promise<string> =>
    (await stepByStep(metrics.expose(deps.watches.size), () => clock.yield())) +
    (fairness?.expose() ?? '') +
    (await storage.metrics.expose(storage.store, registry));
  const groupVersionPaths = (): string[] =>
    [...registry.served].flatMap(({ info }) =>
      info.group === '' ? [`/api/${info.version}`] : ['/apis/', `/apis/${info.group}`, `/apis/${apiVersionOf(info)}`],
    );
  routes.add([
    ...discoveryRoutes({ registry, foreign: aggregator, crypto: platform.crypto, serverAddress: deps.serverAddress }),
    ...openApiRoutes({
      registry,
      gitVersion: version.gitVersion,
      clock,
      custom: () => documents(deps.custom.apis),
      foreign: aggregator,
    }),
    ...healthRoutes(() => deps.healthChecks()),
    ...serverInfoRoutes({ version, metrics: platform.metrics, clock, ownMetrics, routes, groupVersionPaths }),
    ...(fairness === undefined ? [] : flowDebugRoutes(fairness, clock)),
    ...refusedRequestRoutes(deps.refused),
    ...deps.further,
  ]);
  return routes;
}
