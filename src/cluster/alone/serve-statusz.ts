/** `/statusz` of a standalone component. */
import { statusz } from '../../component-helpers/statusz.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpResponse } from '../../platform/http.ts';

/** Answers by the request's Accept header. The component's start time is that of this call; `paths` are listed. */
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
