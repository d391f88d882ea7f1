/**
 * The address of a webhook's service for the API server: one of its ready endpoints, from the server's own caches, or
 * the name of an external one. Upstream: pkg/util/proxy ResolveEndpoint (`--enable-aggregator-routing`): connecting
 * to endpoints directly needs no service proxy on the server's machine.
 */
import { Services } from '../../api/gen/resources.ts';
import { serviceUnavailable, statusFailure } from '../../api/status-error.ts';
import type { Random } from '../../platform/random.ts';
import { readyEndpoint } from '../ready-endpoint.ts';
import type { ObjectStore } from '../registry/object-store.ts';

/** A service as webhook configurations name it. */
export interface ServiceTarget {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface ServiceResolverDeps {
  readonly objects: () => Pick<ObjectStore, 'get' | 'list'>;
  readonly random: Random;
}

/** Host and port to connect to. Throws StatusErrors with upstream's texts. */
export type ResolveService = (target: ServiceTarget) => { readonly host: string; readonly port: number };

export function createServiceResolver({ objects, random }: ServiceResolverDeps): ResolveService {
  return ({ namespace, name, port }) => {
    const service = objects().get(Services, namespace, name);
    if (service === undefined) throw statusFailure(404, 'NotFound', `service "${name}" not found`);
    if (service.spec?.type === 'ExternalName') return { host: service.spec.externalName ?? '', port };
    const servicePort = service.spec?.ports?.find((one) => one.port === port);
    if (servicePort === undefined)
      throw statusFailure(500, '', `no service port ${port} found for service ${JSON.stringify(name)}`);
    const portName = servicePort.name ?? '';
    const found = readyEndpoint({ objects: objects(), random }, { namespace, service: name, portName });
    if (found === undefined) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
    return found;
  };
}
