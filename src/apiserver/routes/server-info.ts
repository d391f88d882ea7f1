/** Serves `/version`, `/metrics`, `/statusz` and `/`, the list of paths. */
import type { Info } from '../../api/gen/version.ts';
import { KUBERNETES_VERSION, VERSION } from '../../base/version.ts';
import { notAcceptable } from '../../api/status-error.ts';
import { statusz } from '../../component-helpers/statusz.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { NonResourceRoute, RouteTable } from '../non-resource-routes.ts';
import { rawJsonResponse, textResponse } from '../responses.ts';

const [major = '', minor = ''] = KUBERNETES_VERSION.slice(1).split('.');

/** The answer of `/version`. Every client can parse `gitVersion` as a semantic version. */
export function versionInfo(build: { readonly compiler?: string; readonly platform?: string } = {}): Info {
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `${KUBERNETES_VERSION}+keelson${VERSION}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: build.compiler ?? 'v8',
    platform: build.platform ?? 'linux/amd64',
  };
}

export interface ServerInfoDeps {
  readonly version: Info;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** The server's own metrics as Prometheus text. */
  readonly ownMetrics: () => Promise<string>;
  readonly routes: RouteTable;
  /** Group versions served, as paths. */
  readonly groupVersionPaths: () => readonly string[];
}

export function serverInfoRoutes(deps: ServerInfoDeps): NonResourceRoute[] {
  exposeBuild(deps);
  const startedMs = deps.clock.nowMs();
  const paths = (): string[] =>
    [...new Set([...deps.routes.paths().filter((path) => path !== '/'), ...deps.groupVersionPaths()])].sort();
  return [
    { path: '/version', serve: (scope) => rawJsonResponse(scope.request, deps.version) },
    {
      path: '/metrics',
      serve: async () => {
        const text = (await deps.metrics.expose()) + (await deps.ownMetrics());
        return textResponse(200, text, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
      },
    },
    {
      path: '/statusz',
      serve({ request }) {
        const page = { component: 'kube-apiserver', startedMs, nowMs: deps.clock.nowMs(), paths: paths() };
        const { status, body, contentType } = statusz(request.headers['accept'], page);
        if (status === 406) throw notAcceptable(body);
        return textResponse(status, body, { 'content-type': contentType });
      },
    },
    { path: '/', serve: (scope) => rawJsonResponse(scope.request, { paths: paths() }) },
  ];
}

/**
 * A metric with the running build, for alerts about version differences. Upstream:
 * component-base/metrics/prometheus/version.
 */
function exposeBuild({ version, metrics }: Pick<ServerInfoDeps, 'version' | 'metrics'>): void {
  const labels = {
    major: version.major,
    minor: version.minor,
    git_version: version.gitVersion,
    git_commit: version.gitCommit,
    git_tree_state: version.gitTreeState,
    build_date: version.buildDate,
    go_version: version.goVersion,
    compiler: version.compiler,
    platform: version.platform,
  };
  const help = 'The build that runs, in labels. The value is always 1.';
  metrics.gauge({ name: 'kubernetes_build_info', help, labels: Object.keys(labels) }).set(1, labels);
}
