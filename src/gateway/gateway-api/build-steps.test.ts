/** The work of one build step is limited for any number of Gateways, listeners and routes. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatTime } from '../../api/time.ts';
import { SharedHosts } from '../snapshot/host-claims.ts';
import { SecretCertificates } from '../snapshot/secret-certificates.ts';
import { backendTo, metadata, view } from './build-gateways-fixture.ts';
import { buildGateways, type GatewayObjects } from './build-gateways.ts';

const GATEWAYS = 32;
const LISTENERS = 64;
const HOSTS = 16;
const created = (second: number) => ({ creationTimestamp: formatTime(second * 1000) });
const labels = Array.from({ length: LISTENERS }, (_, at) => `l${at}`);
/** Each name is below the previous one. */
const wildcards = labels.map((_, at) => `*.${labels.slice(LISTENERS - at).join('.')}${at === 0 ? '' : '.'}x`);
const hostnames = Array.from({ length: HOSTS }, (_, at) => `r${at}${wildcards.at(-1)!.slice(1)}`);

/** The number of reads of listeners' host names in the longest step. */
function longestStep(objects: Partial<GatewayObjects>, protocol: string): number {
  let reads = 0;
  const gateways = Array.from({ length: GATEWAYS }, (_, at) => ({
    metadata: metadata(`g${at}`, 'ns', created(100)),
    spec: {
      gatewayClassName: 'keelson',
      listeners: wildcards.map((name, of) => ({
        name: `l${of}`,
        port: 443,
        protocol,
        tls: protocol === 'TLS' ? { mode: 'Passthrough' } : undefined,
        get hostname() {
          reads++;
          return name;
        },
      })),
    },
  }));
  const none = { httpRoutes: [], grpcRoutes: [], tlsRoutes: [], backendTlsPolicies: [], grants: [] };
  const steps = buildGateways(
    {
      ...none,
      authoritiesIn: () => undefined,
      labelsOfNamespace: () => ({}),
      ...objects,
      gateways: [...(objects.gateways ?? []), ...gateways] as never,
    },
    {
      view,
      certificates: new SecretCertificates(() => ['in.certificate']),
      taken: new Map(),
      shared: new SharedHosts([], new Map()),
      portUser: () => undefined,
      addresses: [],
      openPorts: new Set(),
    },
  );
  let longest = 0;
  for (let isDone = false; !isDone; longest = Math.max(longest, reads)) {
    reads = 0;
    isDone = steps.next().done === true;
  }
  return longest;
}

const parentRefs = Array.from({ length: GATEWAYS }, (_, at) => ({ name: `g${at}` }));
const route = (name: string, second: number, spec: object) =>
  ({ metadata: metadata(name, 'ns', created(second)), spec: { hostnames, rules: [backendTo('s')], ...spec } }) as never;
/** Each listener of each Gateway with each host a few times. */
const MOST = 4 * LISTENERS * LISTENERS;

describe('one step of a build processes one parent of a route', () => {
  test('a TLSRoute with 2,048 listeners', () => {
    assert.ok(longestStep({ tlsRoutes: [route('t', 200, { parentRefs })] }, 'TLS') <= MOST);
  });

  test('a TLSRoute with 2,048 listeners whose hosts an older HTTPRoute has', () => {
    const listeners = [{ name: 'h', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'cert' }] } }];
    const old = {
      metadata: metadata('old', 'ns', created(1)),
      spec: { gatewayClassName: 'keelson', listeners },
    } as never;
    const httpRoutes = [route('h', 2, { parentRefs: [{ name: 'old' }] })];
    const tlsRoutes = [route('t', 200, { parentRefs })];
    assert.ok(longestStep({ gateways: [old], httpRoutes, tlsRoutes }, 'TLS') <= MOST);
  });

  test('an HTTPRoute with 2,048 listeners', () => {
    assert.ok(longestStep({ httpRoutes: [route('t', 200, { parentRefs })] }, 'HTTP') <= MOST);
  });
});
