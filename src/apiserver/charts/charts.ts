/**
 * Charts of the last hour: `/keelson/v1/charts/` before the path of a node, a pod, a workload or a list of them, and
 * `/keelson/v1/api-charts` of this server's requests. Nothing is loaded or collected before the first question.
 *
 * Whoever may get an object may get its charts. Numbers of pods take the right to list pods as well, those of requests the
 * right to get `/metrics`.
 */
import type { ApiResponse } from '../../api/transport.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '../authz/contract.ts';
import { decide } from '../filters/authorization.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { NonResourceRoute } from '../non-resource-routes.ts';
import type { ObjectView } from '../object-views.ts';
import type { RequestScope } from '../request-scope.ts';
import type { ChartServer, ChartServerDeps } from './chart-server.ts';

/** The parts of the API server that charts are. */
export interface Charts {
  readonly view: ObjectView;
  readonly route: NonResourceRoute;
  readonly authorizer: Authorizer;
  stop(): void;
}

const API_CHARTS = '/keelson/v1/api-charts';
const NO_OPINION = { decision: 'noOpinion', reason: '' } as const;

export function createCharts(deps: ChartServerDeps): Charts {
  const { authorizers } = deps;
  let loading: Promise<ChartServer> | undefined;
  let stopped = false;
  const serve = async (answer: (server: ChartServer) => ApiResponse | Promise<ApiResponse>): Promise<ApiResponse> => {
    loading ??= import('./chart-server.ts').then((module) => new module.ChartServer(deps));
    loading.catch(() => (loading = undefined));
    const server = await loading;
    if (stopped) server.stop();
    return answer(server);
  };
  // The last check: the path also requires the right for /metrics, whatever the rules of the path.
  const asMetrics = async (attributes: AuthorizationAttributes): Promise<AuthorizationDecision> => {
    const { decision, reason } = await decide(authorizers, { ...attributes, path: '/metrics' });
    return { decision: decision === 'allow' ? 'allow' : 'deny', reason };
  };
  return {
    view: {
      name: 'charts',
      serve: (scope: RequestScope, store: GenericStore) => serve((server) => server.object(scope, store)),
      serveList: (scope: RequestScope, store: GenericStore) => serve((server) => server.list(scope, store)),
    },
    route: { path: API_CHARTS, serve: (scope) => serve((server) => server.requests(scope)) },
    authorizer: {
      authorize(attributes) {
        return !attributes.isResourceRequest && attributes.path === API_CHARTS ? asMetrics(attributes) : NO_OPINION;
      },
    },
    stop() {
      stopped = true;
      void loading?.then(
        (server) => server.stop(),
        () => undefined,
      );
    },
  };
}
