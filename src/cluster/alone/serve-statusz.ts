/** `/statusz` of a component that runs alone. */
import { statusz } from '../../component-helpers/statusz.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpResponse } from '../../platform/http.ts';

/** Answers requests by their Accept header, as the component of this name, which starts now and serves these paths too. */
export function serveStatusz(
  clock: Clock,
  component: string,
  paths: readonly string[],
): (accept: string | undefined) => HttpResponse {
  const startedMs = clock.nowMs();
  return (accept) => {
    const page = { component, startedMs, nowMs: clock.nowMs(), paths: [...paths, '/statusz'] };
    const { status, contentType, body } = statusz(accept, page);
    return { kind: 'bytes', status, headers: { 'content-type': contentType }, chunks: [Buffer.from(body)] };
  };
}
