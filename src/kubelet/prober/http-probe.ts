/**
 * A probe that succeeds on an HTTP status from 200 to 399. Redirects within the host are followed; a redirect to
 * another host is a warning. Upstream: pkg/probe/http.
 */
import { errorMessage } from '../../base/errors.ts';
import { headerValueOf } from '../../base/header-text.ts';
import type { Container, HTTPGetAction } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Net } from '../../platform/net.ts';
import { readBody } from './http-body.ts';
import { resolvePort, type ProbeOutcome } from './probe-outcome.ts';
import { dialErrorText, joinHostPort } from './tcp-probe.ts';

const MAX_BODY = 10 * 1024;
const MAX_REDIRECTS = 10;
const CONNECT_CODES: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

export interface HttpProbeTarget {
  readonly action: HTTPGetAction;
  readonly container: Container;
  readonly podIp: string;
  readonly timeoutMs: number;
}

export function httpProbeUrl(target: Omit<HttpProbeTarget, 'timeoutMs'>): string {
  const { action, container, podIp } = target;
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const host = action.host === undefined || action.host === '' ? podIp : action.host;
  const path = action.path ?? '/';
  return `${scheme}://${joinHostPort(host, resolvePort(action.port, container))}${path.startsWith('/') ? '' : '/'}${path}`;
}

/** Headers of a probe: upstream's defaults unless the spec names them; an empty value removes one. */
export function httpProbeHeaders(action: HTTPGetAction): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'user-agent': 'kube-probe/1.36', accept: '*/*' };
  for (const { name, value } of action.httpHeaders ?? []) {
    const key = name.toLowerCase();
    if ((value ?? '') === '' && (key === 'user-agent' || key === 'accept')) delete headers[key];
    else headers[key] = headerValueOf(value ?? '');
  }
  return { ...headers, connection: 'close' };
}

/** Sends the request and follows redirects. */
export async function probeHttp(deps: { net: Net; clock: Clock }, target: HttpProbeTarget): Promise<ProbeOutcome> {
  const first = httpProbeUrl(target);
  const headers = httpProbeHeaders(target.action);
  const endMs = deps.clock.monotonicMs() + target.timeoutMs;
  let url = first;
  try {
    for (let redirects = 0; ; redirects++) {
      const answer = await deps.net.http({
        method: 'GET',
        url,
        headers,
        tls: { insecureSkipVerify: true },
        headTimeoutMs: Math.max(endMs - deps.clock.monotonicMs(), 1),
      });
      const { bytes } = await readBody(answer, deps.clock, { maxBytes: MAX_BODY, endMs });
      const body = Buffer.from(bytes).toString();
      const { location } = answer.headers;
      if (answer.status >= 300 && answer.status < 400 && location !== undefined && redirects < MAX_REDIRECTS) {
        const next = new URL(location, url);
        if (next.hostname !== new URL(first).hostname)
          return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
        url = next.href;
        continue;
      }
      if (answer.status >= 200 && answer.status < 400) return { result: 'success', output: body };
      return { result: 'failure', output: `HTTP probe failed with statuscode: ${answer.status}` };
    }
  } catch (error) {
    return { result: 'failure', output: `Get "${url}": ${errorText(error, url)}` };
  }
}

function errorText(error: unknown, url: string): string {
  const { code, name, whileReading } = error as { code?: unknown; name?: unknown; whileReading?: unknown };
  if (whileReading !== undefined) return errorMessage(error);
  if (code === 'ETIMEDOUT' || name === 'TimeoutError')
    return 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  if (!CONNECT_CODES.has(code)) return errorMessage(error);
  const { hostname, port, protocol } = new URL(url);
  return dialErrorText(error, `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`);
}
