/** A cluster's DNS on a simulated host, with services, a client and an upstream server that tests script. */
import * as dnsPacket from 'dns-packet';
import { EndpointSlices, Services } from '../api/gen/resources.ts';
import type { Service, ServiceSpec } from '../api/gen/core-v1.ts';
import type { Endpoint, EndpointSlice } from '../api/gen/discovery-v1.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createFakeApi } from '../client/fake-api-fixture.ts';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import { createDns, type Dns, type DnsConfig } from './dns.ts';
import { frame, takeFrame } from './stream-connection.ts';

/** The address DNS listens on in tests. */
export const DNS_ADDRESS = '10.43.0.10';
const UPSTREAM_ADDRESS = '192.0.2.53';

/** A service with an address, or headless. */
export function service(name: string, clusterIPs: readonly string[], spec: Partial<ServiceSpec> = {}): Service {
  const [clusterIP] = clusterIPs;
  return {
    metadata: { namespace: 'default', name },
    spec: { ...(clusterIP === undefined ? {} : { clusterIP, clusterIPs: [...clusterIPs] }), ...spec },
  };
}

/** A slice of a service. */
export function slice(
  serviceName: string,
  endpoints: readonly Endpoint[],
  ports: EndpointSlice['ports'] = [],
): EndpointSlice {
  const isIpv6 = endpoints[0]?.addresses[0]?.includes(':') === true;
  return {
    metadata: {
      namespace: 'default',
      name: `${serviceName}-${isIpv6 ? 6 : 4}`,
      labels: { 'kubernetes.io/service-name': serviceName },
    },
    addressType: isIpv6 ? 'IPv6' : 'IPv4',
    endpoints: [...endpoints],
    ports,
  };
}

/** The services that most tests ask for. */
export function seedServices(api: ReturnType<typeof createFakeApi>): void {
  api.seed(
    Services,
    service('web', ['10.43.0.20', 'fd00::20'], {
      ports: [
        { name: 'http', port: 80, protocol: 'TCP' },
        { name: 'dns', port: 53, protocol: 'UDP' },
      ],
    }),
  );
  api.seed(Services, service('plain', ['10.43.0.21'], { ports: [{ port: 8080, protocol: 'TCP' }] }));
  api.seed(Services, service('db', ['None'], { ports: [{ name: 'sql', port: 5432 }] }));
  api.seed(
    EndpointSlices,
    slice(
      'db',
      [
        { addresses: ['10.42.0.7'], hostname: 'db-0', conditions: { ready: true } },
        { addresses: ['10.42.0.8'], hostname: 'db-1', conditions: { ready: true } },
        { addresses: ['10.42.0.9'], conditions: {} },
        { addresses: ['10.42.0.10'], hostname: 'db-3', conditions: { ready: false } },
      ],
      [{ name: 'sql', port: 5432, protocol: 'TCP' }],
    ),
  );
  api.seed(Services, service('outer', [], { type: 'ExternalName', externalName: 'db.Example.com.' }));
  api.seed(Services, service('inner', [], { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }));
  api.seed(Services, service('loop', [], { type: 'ExternalName', externalName: 'loop.default.svc.cluster.local' }));
}

/** The answers of the scripted upstream; undefined: none. */
export type UpstreamScript = (query: dnsPacket.Packet, transport: 'udp' | 'tcp') => object | undefined;

/** A DNS server, its upstream and a client. */
export interface DnsFixture {
  readonly platform: SimPlatform;
  readonly dns: Dns;
  readonly api: ReturnType<typeof createFakeApi>;
  /** Questions to the upstream, `transport type name`. */
  readonly asked: string[];
  script: UpstreamScript;
  /** Sends bytes by UDP; undefined without an answer. */
  send(message: Uint8Array): Promise<Buffer | undefined>;
  /** Queries records by UDP. */
  ask(name: string, type: string, options?: { edns?: number }): Promise<dnsPacket.Packet>;
  /** Sends messages over one TCP connection and waits for as many answers. */
  overTcp(messages: readonly Uint8Array[]): Promise<dnsPacket.Packet[]>;
}

/** Starts DNS with the seeded services. */
export async function setUpDns(config: Partial<DnsConfig> = {}): Promise<DnsFixture> {
  const platform = createSimPlatform({ addresses: ['10.0.0.1', DNS_ADDRESS] });
  const { clock } = platform;
  const outside = createSimPlatform({ addresses: [UPSTREAM_ADDRESS], beside: platform });
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  seedServices(api);
  await platform.files.makeDir('/etc');
  await platform.files.writeFile(
    '/etc/resolv.conf',
    `search example.com\nnameserver ${DNS_ADDRESS}\nnameserver ${UPSTREAM_ADDRESS}\n`,
  );
  const client = createInProcessClient({
    handler: api.handler,
    clock,
    principal: { name: 'dns', groups: [] },
    userAgent: 'test',
  });
  const dns = createDns(
    { client, platform },
    {
      listen: [{ address: DNS_ADDRESS, port: 53 }],
      domain: 'cluster.local',
      resolvConfPath: '/etc/resolv.conf',
      ...config,
    },
  );
  const asked: string[] = [];
  const fixture: DnsFixture = {
    platform,
    dns,
    api,
    asked,
    script: () => undefined,
    async send(message) {
      let answer: Buffer | undefined;
      const socket = await platform.datagrams.openDatagrams(
        { address: '10.0.0.1', port: 0 },
        (data) => void (answer = Buffer.from(data)),
      );
      socket.send(message, { address: DNS_ADDRESS, port: 53 });
      await clock.settle();
      for (let waitedMs = 0; answer === undefined && waitedMs < 10_000; waitedMs += 500) await clock.advance(500);
      await socket.close();
      return answer;
    },
    async ask(name, type, options = {}) {
      const answer = await fixture.send(encodeQuery(name, type, options));
      if (answer === undefined) throw new Error(`no answer for ${type} ${name}`);
      return dnsPacket.decode(answer);
    },
    async overTcp(messages) {
      const connection = await platform.net.dial({ host: DNS_ADDRESS, port: 53 });
      const bytes = Buffer.concat(messages.map(frame));
      // In pieces that respect no message's bounds.
      for (let at = 0; at < bytes.length; at += 7) await connection.write(bytes.subarray(at, at + 7));
      const answers: dnsPacket.Packet[] = [];
      let waiting = Buffer.alloc(0);
      for await (const chunk of connection.incoming) {
        waiting = Buffer.concat([waiting, chunk]);
        for (let message = takeFrame(waiting); message !== undefined; message = takeFrame(waiting)) {
          answers.push(dnsPacket.decode(message));
          waiting = waiting.subarray(2 + message.length);
        }
        if (answers.length === messages.length) break;
      }
      await connection.end();
      return answers;
    },
  };
  await startUpstream(outside, fixture);
  await dns.start();
  await clock.settle();
  return fixture;
}

async function startUpstream(outside: SimPlatform, fixture: DnsFixture): Promise<void> {
  const at = { address: UPSTREAM_ADDRESS, port: 53 };
  const respond = (message: Uint8Array, transport: 'udp' | 'tcp'): Buffer | undefined => {
    const query = dnsPacket.decode(message);
    fixture.asked.push(`${transport} ${query.questions[0]?.type} ${query.questions[0]?.name}`);
    const answer = fixture.script(query, transport);
    return answer === undefined
      ? undefined
      : dnsPacket.encode({ type: 'response', id: query.id, questions: query.questions, ...answer });
  };
  const socket = await outside.datagrams.openDatagrams(at, (message, from) => {
    const answer = respond(message, 'udp');
    if (answer !== undefined) socket.send(answer, from);
  });
  await outside.datagrams.listenStreams(at, (connection) => {
    void (async () => {
      for await (const chunk of connection.incoming) {
        const message = takeFrame(Buffer.from(chunk));
        const answer = message === undefined ? undefined : respond(message, 'tcp');
        if (answer !== undefined) await connection.write(frame(answer));
      }
    })().catch(() => undefined);
  });
}

/** A query as a client sends it. */
export function encodeQuery(
  name: string,
  type: string,
  { edns, id = 77 }: { readonly edns?: number; readonly id?: number } = {},
): Buffer {
  const additionals =
    edns === undefined ? [] : [{ type: 'OPT', name: '.', udpPayloadSize: edns, flags: 0, options: [] }];
  return dnsPacket.encode({ type: 'query', id, flags: 1 << 8, questions: [{ name, type, class: 'IN' }], additionals });
}

/** Records as short text: `A web 10.43.0.20`. */
export function texts(records: readonly dnsPacket.Record[]): string[] {
  return records
    .filter((r) => r.type !== 'OPT')
    .map((r) => `${r.type} ${r.name} ${dataText(r)}`)
    .toSorted();
}

function dataText({ type, data }: dnsPacket.Record): string {
  if (type === 'SRV') {
    const { port, target, weight } = data as { port: number; target: string; weight: number };
    return `${weight} ${port} ${target}`;
  }
  if (type === 'TXT') return (data as Buffer[]).map(String).join('');
  if (type === 'SOA') return `minimum ${(data as { minimum: number }).minimum}`;
  return String(data);
}
