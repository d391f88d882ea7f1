/**
 * Environment variables of services, including docker-link style. Upstream: pkg/kubelet/envvars, kubelet_pods.go
 * (getServiceEnvVarMap).
 *
 * Differs: they are computed once for all containers that see the same services, since thousands of services with
 * ports are some hundred thousand variables. Upstream computes them for each container.
 */
import type { Service, ServicePort } from '../../api/gen/core-v1.ts';
import {
  checkLength,
  LENGTH_OF_VARIABLE,
  listOf,
  type SharedVariables,
  VARIABLES_PER_TURN,
} from './container-environment.ts';

function variableName(text: string): string {
  return text.toUpperCase().replaceAll('-', '_');
}

type Variable = readonly [name: string, value: string];

function* portVariables(name: string, ip: string, port: ServicePort): Generator<Variable> {
  const protocol = (port.protocol ?? 'TCP').toLowerCase();
  const prefix = `${name}_PORT_${port.port}_${protocol.toUpperCase()}`;
  yield [prefix, portUrl(ip, port)];
  yield [`${prefix}_PROTO`, protocol];
  yield [`${prefix}_PORT`, String(port.port)];
  yield [`${prefix}_ADDR`, ip];
}

function portUrl(ip: string, port: ServicePort): string {
  return `${(port.protocol ?? 'TCP').toLowerCase()}://${ip.includes(':') ? `[${ip}]` : ip}:${port.port}`;
}

/** Variables of one service with a cluster address: FOO_SERVICE_HOST, FOO_SERVICE_PORT, FOO_PORT_80_TCP … */
function* serviceVariables({ metadata, spec }: Service): Generator<Variable> {
  const name = variableName(metadata.name ?? '');
  const ip = spec?.clusterIP ?? '';
  const ports = spec?.ports ?? [];
  yield [`${name}_SERVICE_HOST`, ip];
  const [first] = ports;
  if (first === undefined) return;
  yield [`${name}_SERVICE_PORT`, String(first.port)];
  for (const port of ports) if (port.name) yield [`${name}_SERVICE_PORT_${variableName(port.name)}`, String(port.port)];
  yield [`${name}_PORT`, portUrl(ip, first)];
  for (const port of ports) yield* portVariables(name, ip, port);
}

/** The services in a pod's environment. */
export interface ServicesSeen {
  /** Services of all namespaces. */
  readonly services: readonly Service[];
  readonly namespace: string;
  readonly enableServiceLinks: boolean;
}

/**
 * Services with a cluster IP: those of the namespace if links are enabled, and always the API server's master
 * service.
 */
function servicesSeen({ services, namespace, enableServiceLinks }: ServicesSeen): Service[] {
  const seen = new Map<string, Service>();
  for (const service of services) {
    const { name = '', namespace: inside } = service.metadata;
    const ip = service.spec?.clusterIP;
    if (ip === undefined || ip === '' || ip === 'None') continue;
    const master = inside === 'default' && name === 'kubernetes';
    if (inside === namespace && (enableServiceLinks || master)) seen.set(name, service);
    else if (master && !seen.has(name)) seen.set(name, service);
  }
  return [...seen.values()];
}

const NONE: SharedVariables = { values: new Map(), list: [], length: 0 };

interface CachedVariables {
  readonly services: readonly Service[];
  readonly variables: Promise<SharedVariables>;
}

/** Keyed by the last service object, so that entries are freed with it. */
const cache = new WeakMap<Service, CachedVariables>();

/**
 * Variables of all services visible to a pod. Rejects with ContainerConfigError when they exceed the limit of an
 * environment.
 */
export async function serviceEnvironment(input: ServicesSeen, pause: () => Promise<void>): Promise<SharedVariables> {
  const services = servicesSeen(input);
  const last = services.at(-1);
  if (last === undefined) return NONE;
  let cached = cache.get(last);
  if (cached === undefined || !areSame(cached.services, services))
    cache.set(last, (cached = { services, variables: combineVariables(services, pause) }));
  return await cached.variables;
}

function areSame(some: readonly Service[], others: readonly Service[]): boolean {
  return some.length === others.length && some.every((service, at) => service === others[at]);
}

async function combineVariables(services: readonly Service[], pause: () => Promise<void>): Promise<SharedVariables> {
  const values = new Map<string, string>();
  let [length, made] = [0, 0];
  for (const service of services)
    for (const [name, value] of serviceVariables(service)) {
      if (++made % VARIABLES_PER_TURN === 0) await pause();
      values.set(name, value);
      length += LENGTH_OF_VARIABLE + name.length + value.length;
      checkLength(length);
    }
  return { values, list: await listOf(values, pause), length };
}
