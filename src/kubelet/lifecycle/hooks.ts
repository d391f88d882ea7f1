/**
 * Runs postStart and preStop hooks: a command, an HTTP request, a TCP connection or a pause. Upstream:
 * pkg/kubelet/lifecycle/handlers.go.
 */
import { secondsToMs } from '../../api/int64.ts';
import { errorMessage } from '../../base/errors.ts';
import { headerValueOf } from '../../base/header-text.ts';
import type { Container, HTTPGetAction, LifecycleHandler, Pod } from '../../api/gen/core-v1.ts';
import type { Clock } from '../../platform/clock.ts';
import type { HttpAnswer, HttpCall, Net } from '../../platform/net.ts';
import type { ContainerExecResult } from '../container/runtime.ts';
import { readBody } from '../prober/http-body.ts';
import { podFullText } from '../runtime/pod-facts.ts';

export interface HookDeps {
  readonly clock: Clock;
  readonly net: Net;
  execSync(containerId: string, command: readonly string[], timeoutMs: number): Promise<ContainerExecResult>;
  /** The pod's current address; '' when it has none. */
  podIp(pod: Pod): Promise<string>;
}

export interface HookRun {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  readonly handler: LifecycleHandler;
  readonly signal?: AbortSignal;
}

export interface HookRunner {
  /** Resolves when the hook has succeeded; rejects with upstream's message. */
  run(hook: HookRun): Promise<void>;
}

const MAX_BODY_BYTES = 10 * 1024;
const HOOK_TIMEOUT_MS = 30_000;

/** Resolves a port's number or name. Throws when the container has no such port. */
function resolvePort(port: string | number, container: Container): number {
  const number = typeof port === 'number' ? port : Number(port);
  if (Number.isInteger(number)) {
    if (number < 1 || number > 65_535) throw new Error(`invalid port number: ${number}`);
    return number;
  }
  const named = container.ports?.find((candidate) => candidate.name === port);
  if (named === undefined) throw new Error(`couldn't find port: "${port}" in container: "${container.name}"`);
  return named.containerPort;
}

function urlOf(action: HTTPGetAction, host: string, port: number): string {
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const path = action.path ?? '';
  return `${scheme}://${authority}${path.startsWith('/') ? path : `/${path}`}`;
}

/** Whether a TLS handshake failed because the server answers in plain HTTP. */
function speaksPlainHttp(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return /WRONG_VERSION_NUMBER|HTTP_REQUEST|EPROTO/.test(`${String(code)} ${String(message)}`);
}

function lowerCased(headers: NonNullable<HttpCall['headers']>): Record<string, string | readonly string[]> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

export function createHookRunner(deps: HookDeps): HookRunner {
  const exec = async ({ handler, container, pod, containerId }: HookRun): Promise<void> => {
    const command = handler.exec!.command ?? [];
    const result = await deps.execSync(containerId, command, 0);
    if (result.exitCode === 0) return;
    const output = Buffer.concat([result.stdout, result.stderr]).toString('utf8');
    throw new Error(
      `Exec lifecycle hook (${command.join(' ')}) for Container "${container.name}" in Pod "${podFullText(pod)}" failed - error: command '${command.join(' ')}' exited with ${result.exitCode}: ${output}, message: ${JSON.stringify(output)}`,
    );
  };

  const http = async ({ handler, container, pod, signal }: HookRun): Promise<void> => {
    const action = handler.httpGet!;
    const host = action.host || (await deps.podIp(pod));
    if (host === '') throw new Error('failed to find networking container: no pod address');
    const url = urlOf(action, host, resolvePort(action.port, container));
    const headers = Object.fromEntries(
      (action.httpHeaders ?? []).map(({ name, value }) => [name, headerValueOf(value)]),
    );
    const fail = (why: string): Error =>
      new Error(
        `HTTP lifecycle hook (${action.path ?? ''}) for Container "${container.name}" in Pod "${podFullText(pod)}" failed - error: ${why}`,
      );
    const call = {
      method: 'GET',
      url,
      headers: { 'user-agent': 'kube-lifecycle/1.36', accept: '*/*', ...headers },
      tls: { insecureSkipVerify: true },
      headTimeoutMs: HOOK_TIMEOUT_MS,
      signal,
    };
    const endMs = deps.clock.monotonicMs() + HOOK_TIMEOUT_MS;
    try {
      const answer = await withHttpFallback(call);
      await readBody(answer, deps.clock, { maxBytes: MAX_BODY_BYTES, endMs });
      // The body is not shown: a pod chooses the host, and its events would reveal the body.
      if (answer.status >= 400) throw new Error(`HTTP status ${answer.status}`);
    } catch (error) {
      throw fail(errorMessage(error));
    }
  };

  /**
   * Early hooks used plain HTTP whatever their scheme. A server that still expects it is called that way, without
   * credentials.
   */
  const withHttpFallback = async (call: HttpCall): Promise<HttpAnswer> => {
    try {
      return await deps.net.http(call);
    } catch (error) {
      if (!call.url.startsWith('https:') || !speaksPlainHttp(error)) throw error;
      const { authorization: _credentials, ...headers } = lowerCased(call.headers ?? {});
      const { tls: _tls, ...rest } = call;
      return deps.net.http({ ...rest, url: call.url.replace(/^https:/, 'http:'), headers });
    }
  };

  const tcp = async ({ handler, container, pod, signal }: HookRun): Promise<void> => {
    const action = handler.tcpSocket!;
    const host = action.host || (await deps.podIp(pod));
    const port = resolvePort(action.port, container);
    const connection = await deps.net.dial({
      host,
      port,
      timeoutMs: HOOK_TIMEOUT_MS,
      signal,
    });
    connection.destroy();
  };

  return {
    async run(hook) {
      const { handler } = hook;
      if (handler.exec !== undefined) await exec(hook);
      else if (handler.httpGet !== undefined) await http(hook);
      else if (handler.tcpSocket !== undefined) await tcp(hook);
      else if (handler.sleep !== undefined) await deps.clock.sleep(secondsToMs(handler.sleep.seconds), hook.signal);
      else throw new Error(`invalid handler: ${JSON.stringify(handler)}`);
    },
  };
}
