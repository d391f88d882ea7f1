/** A server with every built-in resource and both webhook plugins on a simulated network, for tests of webhooks. */
import type { AdmissionRequest } from '../../../api/gen/admission-v1.ts';
import { createMemoryLog } from '../../../platform/sim/log.ts';
import { createSimNet, createSimNetwork } from '../../../platform/sim/net.ts';
import type { Tracer } from '../../../platform/tracing.ts';
import { createMemoryStore } from '../../../storage/memory/memory-store.ts';
import { ServiceAllocator } from '../../registry/core/services/service-allocator.ts';
import { createResourceDefinitions } from '../../registry/list.ts';
import { createServerStorage } from '../../server-storage.ts';
import { startTestServer, testPlatform, type TestServer } from '../../server-fixture.ts';
import { createServiceResolver } from '../../webhook/service-resolver.ts';
import { createWebhookClient } from '../../webhook/webhook-client.ts';
import type { AdmissionPlugin } from '../contract.ts';
import type { MatchConditions } from './call-webhook.ts';
import { createWebhookMatchConditions } from './match-conditions.ts';
import { createMutatingWebhooks } from './mutating-webhook.ts';
import { createValidatingWebhooks } from './validating-webhook.ts';
import { createWebhookMetrics } from './webhook-metrics.ts';

/** Answers a review: the `response` without its uid, or a whole body. Undefined: never. */
export type TestWebhook = (request: AdmissionRequest) => object | undefined;

/** The configuration of a test webhook. */
export interface HookSpec {
  readonly kind?: 'Mutating' | 'Validating';
  /** Name of the configuration and of its only webhook (`<name>.example.com`). */
  readonly name: string;
  readonly answer: TestWebhook;
  /** Fields of the webhook. */
  readonly hook?: object;
}

/** A server and its webhooks. */
export interface WebhookFixture extends TestServer {
  /** Creates the configuration and listens for it. */
  configure(spec: HookSpec): Promise<void>;
  /** Reviews in the order they came. */
  readonly reviews: (AdmissionRequest & { readonly path: string; readonly traceparent: string | undefined })[];
}

/** The address webhooks listen at. */
export const HOOK_ADDRESS = '10.0.0.9';

/** Starts it. `before` run before the webhooks, `conditions` evaluate match conditions. */
export async function startWithWebhooks({
  before = [],
  tracer,
  conditions = createWebhookMatchConditions({ authorize: () => ({ decision: 'allow', reason: '' }) }),
}: {
  before?: readonly AdmissionPlugin[];
  tracer?: Tracer;
  conditions?: MatchConditions;
} = {}): Promise<WebhookFixture> {
  const platform = testPlatform();
  const { clock, random } = platform;
  const network = createSimNetwork(clock);
  const net = createSimNet(network, ['10.0.0.1']);
  const storage = createServerStorage({ store: createMemoryStore({ clock }), platform });
  const objects = () => storage.objects;
  const serviceAllocator = new ServiceAllocator(
    { objects: storage.objects, random },
    { serviceClusterIpRanges: ['10.43.0.0/16'] },
  );
  const definitions = createResourceDefinitions({
    objects: storage.objects,
    platform,
    serviceAllocator,
    authorizer: { authorize: () => ({ decision: 'allow', reason: '' }) },
  });
  const deps = {
    objects,
    registry: storage.registry,
    random,
    client: createWebhookClient({ net, clock, log: platform.log }),
    log: createMemoryLog(),
    matchConditions: conditions,
    measure: createWebhookMetrics(platform),
  };
  const resolve = createServiceResolver({ objects, random });
  const admission = [...before, createMutatingWebhooks(deps, resolve), createValidatingWebhooks(deps, resolve)];
  const server = await startTestServer({ platform, storage, definitions, admission, tracer });
  serviceAllocator.start();
  const answers = new Map<string, TestWebhook>();
  const reviews: WebhookFixture['reviews'] = [];
  await listen(createSimNet(network, [HOOK_ADDRESS]), answers, reviews);
  return { ...server, platform, reviews, configure: (spec) => configure(server, answers, spec) };
}

async function listen(
  net: ReturnType<typeof createSimNet>,
  answers: ReadonlyMap<string, TestWebhook>,
  reviews: WebhookFixture['reviews'],
): Promise<void> {
  await net.listenHttp({ host: '0.0.0.0', port: 443 }, async ({ path, headers, readBody }) => {
    const { request } = JSON.parse(Buffer.from(await readBody(1 << 24)).toString('utf8')) as {
      request: AdmissionRequest;
    };
    reviews.push({ ...request, path, traceparent: headers['traceparent'] });
    const made = answers.get(path)?.(request);
    if (made === undefined) return await new Promise(() => undefined);
    const review = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: { uid: request.uid, ...made },
    };
    const body = Buffer.from(JSON.stringify('kind' in made ? made : review));
    return { kind: 'bytes', status: 200, headers: { 'content-type': 'application/json' }, chunks: [body] };
  });
}

async function configure(server: TestServer, answers: Map<string, TestWebhook>, spec: HookSpec): Promise<void> {
  const { kind = 'Mutating', name, answer, hook = {} } = spec;
  answers.set(`/${name}`, answer);
  const webhook = {
    name: `${name}.example.com`,
    clientConfig: { url: `https://${HOOK_ADDRESS}/${name}` },
    rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...hook,
  };
  const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`;
  const { status, text } = await server.send('POST', path, { metadata: { name }, webhooks: [webhook] });
  if (status !== 201) throw new Error(text);
}

export function patchResponse(...operations: readonly object[]): object {
  return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };
}
