/**
 * Describes what containers of a simulated image do: how long they take to start, when they end, what they log and respond.
 * Durations are milliseconds or texts as in Go (`1m30s`, `250ms`).
 */

import { quantityAsFloat } from '../../api/quantity.ts';
import { errorMessage } from '../../base/errors.ts';

/** Milliseconds, or a text such as `2s`. */
export type Duration = number | string;

/** How a process ends. */
export interface SimExit {
  readonly code: number;
  /** After its start. */
  readonly after: Duration;
  /** Default: Completed or Error by the code. */
  readonly reason?: string;
}

/** A line written after the start. */
export interface SimLogLine {
  readonly after?: Duration;
  readonly line: string;
  readonly stream?: 'stdout' | 'stderr';
}

/** A command run inside a container. */
export interface SimExecCall {
  readonly command: readonly string[];
  readonly containerName: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Its result; it takes `after`. */
export interface SimExecResult {
  readonly exitCode: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly after?: Duration;
}

/** An HTTP request to a container's port. */
export interface SimHttpCall {
  readonly method: string;
  readonly path: string;
  /** Without the question mark; '' where there is none. */
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As text. */
  readonly body: string;
  readonly port: number;
  /** Since the container's start. */
  readonly uptimeMs: number;
}

export interface SimHttpAnswer {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server of the test: its port on 127.0.0.1, or a Node.js server that listens on one. */
export type SimServer = number | { address(): string | { readonly port: number } | null };

/** The port of a server. Throws an ECONNREFUSED while it does not listen. */
export function portOfServer(server: SimServer): number {
  if (typeof server === 'number') return server;
  const address = server.address();
  if (typeof address === 'object' && address !== null) return address.port;
  throw Object.assign(new Error('connect ECONNREFUSED: the server of the test does not listen on a port'), {
    code: 'ECONNREFUSED',
  });
}

/** What a container uses while it runs. */
export interface SimUsage {
  /** Cores, as a number or a quantity (`250m`). Default a hundredth. */
  readonly cpu?: number | string;
  /** Bytes, as a number or a quantity (`64Mi`). Default ten million. Beyond the container's limit it is OOMKilled. */
  readonly memory?: number | string;
}

/** The container whose usage is computed. */
export interface SimUsageCall {
  readonly namespace: string;
  readonly podName: string;
  readonly containerName: string;
  /** Since the container's start. */
  readonly uptimeMs: number;
}

/** Constant, in steps that begin `after` the start, or computed at each reading (and once a second). */
export type SimUsageSpec =
  | SimUsage
  | readonly (SimUsage & { readonly after?: Duration })[]
  | ((call: SimUsageCall) => SimUsage);

/** The interface of a program written for the simulation. */
export interface SimProcess {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly podIp: string;
  /** Aborts when the process is to stop. */
  readonly stopped: AbortSignal;
  sleep(duration: Duration): Promise<void>;
  log(line: string, stream?: 'stdout' | 'stderr'): void;
  /** Writes the termination message. */
  terminationMessage(text: string): void;
}

/** The behaviour of an image's containers. By default they start at once, run until they are stopped, and stop at once. */
export interface SimImageSpec {
  /** How long StartContainer takes. */
  readonly start?: Duration;
  /** The process ends by itself. */
  readonly exits?: SimExit;
  /** The first `times` starts of each pod's container end like this; later ones behave as described by the rest. */
  readonly crashes?: SimExit & { readonly times: number };
  /** StartContainer fails with this message. */
  readonly startError?: string;
  /** Reaction to the stop signal; 'ignored' waits for the kill. Default: ends at once with 0. */
  readonly onStop?: 'ignored' | { readonly after?: Duration; readonly code?: number };
  readonly logs?: readonly (string | SimLogLine)[];
  /** The result of commands: constant or computed. Default: success without output. */
  readonly exec?: SimExecResult | ((call: SimExecCall) => SimExecResult | Promise<SimExecResult>);
  /** The responses on `ports`: constant or computed. Default: no server listens. */
  readonly http?: SimHttpAnswer | ((call: SimHttpCall) => SimHttpAnswer | Promise<SimHttpAnswer>);
  /**
   * Servers of the test by container port: the port of 127.0.0.1 on which one listens, or the server itself (`node:http`,
   * `node:https`, `node:http2`, `node:net`, `node:tls`). Bytes pass unchanged, so TLS and gRPC work; virtual time stands still
   * meanwhile.
   */
  readonly servers?: Readonly<Record<number, SimServer>>;
  /** Ports `http` listens on from the start of the container on. Default 80 and 8080. */
  readonly ports?: readonly number[];
  /** Written to the termination message file at the end. */
  readonly terminationMessage?: string;
  /** For `kubectl top`, autoscalers, evictions and memory limits. */
  readonly usage?: SimUsageSpec;
  /** A whole program, whose result is the exit code; replaces `exits`, `logs` and `onStop`. */
  readonly run?: (process: SimProcess) => Promise<number>;
  /** How long pulling takes, or the message it fails with. Images that are not `present` must be pulled. */
  readonly pull?: { readonly after?: Duration; readonly error?: string };
  /** On the node from the start. Default true. */
  readonly present?: boolean;
  readonly sizeBytes?: number;
  /**
   * Numeric user the image runs as. A described image without `uid` and `username` names no user and runs as root; one that
   * nobody described has an unprivileged user.
   */
  readonly uid?: number;
  readonly username?: string;
}

/** An image by name. */
export interface SimImage extends SimImageSpec {
  readonly name: string;
  readonly exec?: (call: SimExecCall) => SimExecResult | Promise<SimExecResult>;
  readonly http?: (call: SimHttpCall) => SimHttpAnswer | Promise<SimHttpAnswer>;
}

/** Whether a name stands for all names that fit it. */
export const isPattern = (name: string): boolean => name.includes('*');

/** Describes an image. A name without a tag means `latest`; one with `*` stands for all that fit it. Throws on an invalid duration or amount. */
export function image(name: string, spec: SimImageSpec = {}): SimImage {
  const { exec, http, ...rest } = spec;
  const { start, exits, crashes, onStop, pull, logs = [], usage } = rest;
  const durations = [
    start,
    exits?.after,
    crashes?.after,
    pull?.after,
    ...logs.map((entry) => (entry as SimLogLine).after),
  ];
  if (typeof onStop === 'object') durations.push(onStop.after);
  try {
    for (const duration of durations) durationMs(duration);
    if (usage !== undefined && typeof usage !== 'function') usageSteps(usage);
  } catch (error) {
    throw new Error(`image ${name}: ${errorMessage(error)}`, { cause: error });
  }
  return {
    ...rest,
    ...(exec && { exec: typeof exec === 'function' ? exec : () => exec }),
    ...(http && { http: typeof http === 'function' ? http : () => http }),
    name: isPattern(name) || /[:@]/.test(name.slice(name.lastIndexOf('/') + 1)) ? name : `${name}:latest`,
  };
}

/** Use from a moment on. */
export interface UsageFigures {
  readonly cores: number;
  readonly bytes: number;
}

/** The usage as numbers; defaults: a hundredth of a core and ten megabytes. Throws for an invalid amount. */
export function usageFigures({ cpu = 0.01, memory = 10_000_000 }: SimUsage): UsageFigures {
  return { cores: amountOf(cpu), bytes: amountOf(memory) };
}

function amountOf(value: number | string): number {
  const amount = typeof value === 'number' ? value : quantityAsFloat(value);
  if (!(amount >= 0)) throw new Error(`usage: ${value} is not an amount`);
  return amount;
}

/** The steps by time, the first at 0. Throws for an invalid amount or duration. */
export function usageSteps(
  spec: Exclude<SimUsageSpec, (call: SimUsageCall) => SimUsage>,
): readonly (UsageFigures & { readonly atMs: number })[] {
  const usages: readonly (SimUsage & { readonly after?: Duration })[] = 'length' in spec ? spec : [spec];
  const steps = usages.map((step) => ({ atMs: durationMs(step.after), ...usageFigures(step) }));
  steps.sort((a, b) => a.atMs - b.atMs);
  return steps[0]?.atMs === 0 ? steps : [{ atMs: 0, ...usageFigures({}) }, ...steps];
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration. Throws on an invalid text. */
export function durationMs(duration: Duration | undefined): number {
  if (duration === undefined) return 0;
  if (typeof duration === 'number') return duration;
  if (!/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(duration)) throw new Error(`not a duration: ${duration}`);
  let total = 0;
  for (const [, number, unit] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    total += Number(number) * UNITS[unit!]!;
  return total;
}
