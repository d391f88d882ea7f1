/** Sends requests to endpoints by the protocol of their backend. Connections outlive changes of routes. */
import type { Clock } from '../../../platform/clock.ts';
import type { Backend, Endpoint } from '../../snapshot/snapshot.ts';
import type { BackendCall, BackendRequest, Connector } from './backend-call.ts';
import { EndpointChooser } from './endpoint-chooser.ts';
import { Http1Connector } from './http1-backend.ts';
import { Http2Connector } from './http2-backend.ts';

export class Backends {
  readonly #connectors: Readonly<Record<Backend['protocol'], Connector>>;
  readonly #chooser: EndpointChooser;

  constructor(clock: Clock) {
    this.#connectors = {
      http: new Http1Connector(clock, false),
      https: new Http1Connector(clock, true),
      h2c: new Http2Connector(clock, false),
      h2: new Http2Connector(clock, true),
    };
    this.#chooser = new EndpointChooser(clock);
  }

  /** The endpoints in the order in which they are tried. */
  order(backend: Backend, clientAddress: string): readonly Endpoint[] {
    return this.#chooser.order(backend, clientAddress);
  }

  /** Records that the endpoint could not be reached. */
  failed(endpoint: Endpoint): void {
    this.#chooser.failed(endpoint);
  }

  call(endpoint: Endpoint, request: BackendRequest, backend: Backend): BackendCall {
    return this.#connectors[backend.protocol].call(endpoint, request, backend);
  }

  close(): void {
    for (const connector of Object.values(this.#connectors)) connector.close();
  }
}
