/** Probes end to end over the simulated network, and the pure parts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, Probe } from '../../api/gen/core-v1.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ContainerRuntime } from '../container/runtime.ts';
import { httpProbeHeaders, httpProbeUrl } from './http-probe.ts';
import { resolvePort } from './probe-outcome.ts';
import { createProber, type Prober } from './prober.ts';
import type { ProbeType } from './results.ts';

const pod: Pod = { metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: { containers: [{ name: 'app' }] } };

interface Rig {
  readonly platform: SimPlatform;
  readonly events: string[];
  probe(type: ProbeType, spec: Probe, container?: Container): Promise<string>;
}

function rig(execSync?: ContainerRuntime['execSync']): Rig {
  const platform = createSimPlatform();
  const events: string[] = [];
  const prober: Prober = createProber({
    clock: platform.clock,
    net: platform.net,
    connectGrpc: () => assert.fail('no probe here is a gRPC probe'),
    runtime: { execSync } as ContainerRuntime,
    recorder: {
      event: (...[target, , reason, message]) =>
        void events.push(`${(target as { fieldPath: string }).fieldPath} ${reason} ${message}`),
    },
  });
  return {
    platform,
    events,
    async probe(type, spec, container = { name: 'app' }) {
      const request = { type, spec, pod, podStatus: { podIP: '10.0.0.1' }, container, containerId: 'c1' };
      return (await platform.clock.drive(prober.probe(request), 60_000)).result;
    },
  };
}

const bytes = (text: string): Uint8Array => Buffer.from(text);

async function serve(platform: SimPlatform, status: number, headers: Record<string, string> = {}): Promise<string[]> {
  const paths: string[] = [];
  await platform.listenHttp({ host: '10.0.0.1', port: 8080 }, (request) => {
    paths.push(`${request.path} ${request.headers['user-agent']}`);
    const redirected = request.path === '/after';
    return {
      kind: 'bytes',
      status: redirected ? 200 : status,
      headers: redirected ? {} : headers,
      chunks: [bytes('body')],
    };
  });
  return paths;
}

describe('exec probe', () => {
  const cases: readonly {
    name: string;
    run: ContainerRuntime['execSync'];
    result: string;
    event?: string;
  }[] = [
    { name: 'exit 0', run: async () => ({ exitCode: 0, stdout: bytes(''), stderr: bytes('') }), result: 'success' },
    {
      name: 'exit 1',
      run: async () => ({ exitCode: 1, stdout: bytes('out'), stderr: bytes('err') }),
      result: 'failure',
      event: 'spec.containers{app} Unhealthy Readiness probe failed: outerr',
    },
    {
      name: 'timeout',
      run: () => Promise.reject(Object.assign(new Error('slow'), { code: 'DEADLINE' })),
      result: 'failure',
      event: 'spec.containers{app} Unhealthy Readiness probe failed: command timed out: "cat /x" timed out after 2s',
    },
    {
      name: 'no runtime',
      run: () => Promise.reject(new Error('gone')),
      result: 'unknown',
      event: 'spec.containers{app} Unhealthy Readiness probe errored and resulted in unknown state: gone',
    },
  ];
  for (const { name, run, result, event } of cases) {
    it(name, async () => {
      const { probe, events } = rig(run);
      assert.equal(await probe('readiness', { exec: { command: ['cat', '/x'] }, timeoutSeconds: 2 }), result);
      assert.deepEqual(events, event === undefined ? [] : [event]);
    });
  }
});

describe('HTTP probe', () => {
  const spec: Probe = { httpGet: { path: '/ok', port: 'http' } };
  const container: Container = { name: 'app', ports: [{ name: 'http', containerPort: 8080 }] };

  it('succeeds from 200 to 399', async () => {
    const { platform, probe, events } = rig();
    const paths = await serve(platform, 204);
    assert.equal(await probe('liveness', spec, container), 'success');
    assert.deepEqual(paths, ['/ok kube-probe/1.36']);
    assert.deepEqual(events, []);
  });

  it('fails on other statuses', async () => {
    const { platform, probe, events } = rig();
    await serve(platform, 503);
    assert.equal(await probe('liveness', spec, container), 'failure');
    assert.deepEqual(events, [
      'spec.containers{app} Unhealthy Liveness probe failed: HTTP probe failed with statuscode: 503',
    ]);
  });

  it('fails when nothing listens', async () => {
    const { probe, events } = rig();
    assert.equal(await probe('startup', spec, container), 'failure');
    assert.deepEqual(events, [
      'spec.containers{app} Unhealthy Startup probe failed: Get "http://10.0.0.1:8080/ok": dial tcp 10.0.0.1:8080: connect: connection refused',
    ]);
  });

  it('follows redirects within the host, and warns of others', async () => {
    const inside = rig();
    const paths = await serve(inside.platform, 302, { location: '/after' });
    assert.equal(await inside.probe('liveness', spec, container), 'success');
    assert.equal(paths.length, 2);
    const outside = rig();
    await serve(outside.platform, 302, { location: 'http://example.com/' });
    assert.equal(await outside.probe('liveness', spec, container), 'success');
    assert.deepEqual(outside.events, [
      'spec.containers{app} ProbeWarning Liveness probe warning: Probe terminated redirects, Response body: body',
    ]);
  });

  it('makes URL and headers of the spec', () => {
    const of = (httpGet: NonNullable<Probe['httpGet']>): string =>
      httpProbeUrl({ action: httpGet, container, podIp: 'fd00::5' });
    assert.equal(of({ port: 80 }), 'http://[fd00::5]:80/');
    assert.equal(of({ port: '443', scheme: 'HTTPS', host: 'h', path: 'x?y=1' }), 'https://h:443/x?y=1');
    assert.deepEqual(
      httpProbeHeaders({
        port: 1,
        httpHeaders: [
          { name: 'Host', value: 'a.b' },
          { name: 'Accept', value: '' },
        ],
      }),
      {
        'user-agent': 'kube-probe/1.36',
        host: 'a.b',
        connection: 'close',
      },
    );
    assert.throws(() => resolvePort('nope', container), /could not find port nope/);
  });
});

describe('TCP probes', () => {
  it('succeed when a connection opens', async () => {
    const { platform, probe, events } = rig();
    platform.net.listenRaw(7000, (socket) => socket.destroy());
    assert.equal(await probe('liveness', { tcpSocket: { port: 7000 } }), 'success');
    assert.equal(await probe('liveness', { tcpSocket: { port: 7001 } }), 'failure');
    assert.deepEqual(events, [
      'spec.containers{app} Unhealthy Liveness probe failed: dial tcp 10.0.0.1:7001: connect: connection refused',
    ]);
  });
});
