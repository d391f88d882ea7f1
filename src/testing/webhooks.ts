/**
 * Webhooks of a simulated cluster: functions in the test's own process under URLs that only the cluster's API server can reach.
 * They need no ports and no certificates; time stands while a function runs.
 */
import { stringifyJson } from '../api/codec/json.ts';
import type { Clock } from '../platform/clock.ts';
import type { HttpRequest, HttpResponse } from '../platform/http.ts';
import { createSimNet, type SimNetwork } from '../platform/sim/net.ts';

/** Receives the posted object (an AdmissionReview, a ConversionReview) and returns the response. */
export type WebhookFunction = (review: never) => object | Promise<object>;

const HOST = 'webhooks.test';
const ADDRESS = '10.64.255.254';
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** The functions of a cluster by path, which outlive the cluster's machines. */
export class TestWebhooks {
  readonly #answers: Map<string, WebhookFunction>;

  /** @param before existing webhooks to keep */
  constructor(before?: TestWebhooks) {
    this.#answers = new Map(before === undefined ? [] : before.#answers);
  }

  /** Registers a function; returns the URL for a `clientConfig`. */
  add(path: string, answer: WebhookFunction): string {
    const absolute = path.startsWith('/') ? path : `/${path}`;
    this.#answers.set(absolute, answer);
    return `https://${HOST}${absolute}`;
  }

  /** Listens on a network. */
  listen(network: SimNetwork, clock: Clock): void {
    network.names.set(HOST, ADDRESS);
    const serve = (request: HttpRequest): Promise<HttpResponse> => this.#serve(request, clock);
    void createSimNet(network, [ADDRESS]).listenHttp({ host: ADDRESS, port: 443 }, serve);
  }

  async #serve(request: HttpRequest, clock: Clock): Promise<HttpResponse> {
    const answer = this.#answers.get(request.path);
    if (answer === undefined) return response(404, { message: `no webhook at ${request.path}` });
    const review = JSON.parse(Buffer.from(await request.readBody(MAX_BODY_BYTES)).toString('utf8')) as never;
    const release = clock.holdBusy(`the webhook ${request.path}`);
    try {
      return response(200, await answer(review));
    } catch (error) {
      return response(500, { message: String(error) });
    } finally {
      release();
    }
  }
}

function response(status: number, body: object): HttpResponse {
  const chunks = [Buffer.from(stringifyJson(body))];
  return { kind: 'bytes', status, headers: { 'content-type': 'application/json' }, chunks };
}
