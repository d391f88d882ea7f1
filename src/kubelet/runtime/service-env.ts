/** Environment variables of services, docker-link style included. Upstream: pkg/kubelet/envvars, kubelet_pods.go (getServiceEnvVarMap). */
import type { Service } from '../../api/gen/core-v1.ts';

function variableName(text: string): string {
  return text.toUpperCase().replaceAll('-', '_');
}

function portVariables(service: Service): Record<string, string> {
  const prefix = `${variableName(service.metadata.name ?? '')}_PORT`;
  const ip = service.spec?.clusterIP ?? '';
  const host = ip.includes(':') ? `[${ip}]` : ip;
  const variables: Record<string, string> = {};
  (service.spec?.ports ?? []).forEach((port, index) => {
    const protocol = (port.protocol ?? 'TCP').toLowerCase();
    const url = `${protocol}://${host}:${port.port}`;
    if (index === 0) variables[prefix] = url;
    const portPrefix = `${prefix}_${port.port}_${protocol.toUpperCase()}`;
    variables[portPrefix] = url;
    variables[`${portPrefix}_PROTO`] = protocol;
    variables[`${portPrefix}_PORT`] = String(port.port);
    variables[`${portPrefix}_ADDR`] = ip;
  });
  return variables;
}

interface ServiceVariables {
  readonly variables: Readonly<Record<string, string>>;
  /** Characters of names and values. */
  readonly length: number;
}

/** By service as it was read: every container of its namespace has them. */
const known = new WeakMap<Service, ServiceVariables>();

/** Variables of one service with a cluster address: FOO_SERVICE_HOST, FOO_SERVICE_PORT, FOO_PORT_80_TCP … */
function serviceVariables(service: Service): ServiceVariables {
  let found = known.get(service);
  if (found === undefined) {
    const variables = makeVariables(service);
    const length = Object.entries(variables).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    known.set(service, (found = { variables, length }));
  }
  return found;
}

function makeVariables(service: Service): Record<string, string> {
  const prefix = `${variableName(service.metadata.name ?? '')}_SERVICE`;
  const ports = service.spec?.ports ?? [];
  const variables: Record<string, string> = { [`${prefix}_HOST`]: service.spec?.clusterIP ?? '' };
  if (ports.length > 0) variables[`${prefix}_PORT`] = String(ports[0]!.port);
  for (const port of ports) {
    if (port.name) variables[`${prefix}_PORT_${variableName(port.name)}`] = String(port.port);
  }
  return { ...variables, ...portVariables(service) };
}

/**
 * Variables of all services a pod sees: those of its namespace when links are enabled, and the API's master service always.
 * Only their length where that is beyond `maxLength`: they are many times as many as the services.
 */
export function serviceEnvironment(input: {
  services: readonly Service[];
  namespace: string;
  enableServiceLinks: boolean;
  maxLength: number;
}): ServiceVariables {
  const seen = new Map<string, Service>();
  for (const service of input.services) {
    const { name = '', namespace } = service.metadata;
    const ip = service.spec?.clusterIP;
    if (ip === undefined || ip === '' || ip === 'None') continue;
    const master = namespace === 'default' && name === 'kubernetes';
    if (namespace === input.namespace && (input.enableServiceLinks || master)) seen.set(name, service);
    else if (master && !seen.has(name)) seen.set(name, service);
  }
  let length = 0;
  for (const service of seen.values()) length += serviceVariables(service).length;
  const variables: Record<string, string> = {};
  if (length > input.maxLength) return { variables, length };
  for (const service of seen.values()) Object.assign(variables, serviceVariables(service).variables);
  return { variables, length };
}
