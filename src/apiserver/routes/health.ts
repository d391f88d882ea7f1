/** Serves `/healthz`, `/livez`, `/readyz` and the single checks below them. Upstream: server/healthz. */
import { noSuchPath } from '../../api/status-error.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { NonResourceRoute } from '../non-resource-routes.ts';
import type { RequestScope } from '../request-scope.ts';
import { textResponse } from '../responses.ts';

/** One check. `check` returns undefined when healthy, otherwise the problem. */
export interface HealthCheck {
  readonly name: string;
  check(): string | undefined;
  /** The endpoints that include it; default all three. */
  readonly endpoints?: readonly ('healthz' | 'livez' | 'readyz')[];
}

function healthReport(endpoint: string, checks: readonly HealthCheck[], scope: RequestScope): ApiResponse {
  const excluded = new Set(scope.params.getAll('exclude'));
  const lines: string[] = [];
  let failed = false;
  for (const one of checks) {
    if (excluded.has(one.name)) {
      lines.push(`[+]${one.name} excluded: ok`);
      continue;
    }
    const problem = one.check();
    if (problem !== undefined) failed = true;
    lines.push(problem === undefined ? `[+]${one.name} ok` : `[-]${one.name} failed: reason withheld`);
  }
  if (failed) return textResponse(500, `${lines.join('\n')}\n${endpoint} check failed\n`);
  return textResponse(200, scope.params.has('verbose') ? `${lines.join('\n')}\n${endpoint} check passed\n` : 'ok');
}

/** The health routes. Checks run on every request and must be cheap. */
export function healthRoutes(checks: () => readonly HealthCheck[]): NonResourceRoute[] {
  return (['healthz', 'livez', 'readyz'] as const).map((endpoint) => ({
    path: `/${endpoint}`,
    prefix: true,
    serve: (scope) => {
      const concerned = checks().filter((one) => one.endpoints === undefined || one.endpoints.includes(endpoint));
      const name = scope.request.path.slice(endpoint.length + 2).replace(/\/$/, '');
      if (name === '') return healthReport(endpoint, concerned, scope);
      const single = concerned.find((one) => one.name === name);
      if (single === undefined) throw noSuchPath();
      const problem = single.check();
      return problem === undefined ? textResponse(200, 'ok') : textResponse(500, `internal server error: ${problem}\n`);
    },
  }));
}
