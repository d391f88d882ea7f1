import type { HttpRequest, HttpResponse } from '../../platform/http.ts';
import { createSimNet, createSimNetwork } from '../../platform/sim/net.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createWebhookClient } from '../webhook/webhook-client.ts';
import type { WebhookTarget } from '../webhook/webhook-target.ts';

// A server outside the cluster for authenticators and authorizers.
/** A network with a server at 10.0.0.9; `answers` is read at each request. */
export async function world() {
  const clock = new VirtualClock();
  const network = createSimNetwork(clock);
  const answers = new Map<string, (body: string) => unknown>();
  const asked: string[] = [];
  const bearers = new Map<string, string | undefined>();
  const serve = async (request: HttpRequest): Promise<HttpResponse> => {
    asked.push(request.path);
    bearers.set(request.path, request.headers['authorization']);
    const answer = answers.get(request.path);
    const text = Buffer.from(await request.readBody(1 << 20)).toString('utf8');
    const given = answer === undefined ? 'nothing here' : answer(text);
    if (typeof given === 'function')
      return { kind: 'stream', status: 200, headers: {}, run: given as () => Promise<void> };
    const body = typeof given === 'string' ? given : JSON.stringify(given);
    return { kind: 'bytes', status: answer === undefined ? 404 : 200, headers: {}, chunks: [Buffer.from(body)] };
  };
  await createSimNet(network, ['10.0.0.9']).listenHttp({ host: '0.0.0.0', port: 443 }, serve);
  const net = createSimNet(network, ['10.0.0.1']);
  const url = 'https://10.0.0.9/review';
  const target: WebhookTarget = { url, tls: {}, destination: () => ({ url, headers: {} }) };
  return {
    clock,
    net,
    answers,
    asked,
    bearers,
    target,
    client: createWebhookClient({ net, clock, log: createMemoryLog() }),
    log: createMemoryLog(),
  };
}
