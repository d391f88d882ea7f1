import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Service } from '../../api/gen/core-v1.ts';
import { expand } from './expansion.ts';
import { type FixtureWorld } from './runtime-fixture.ts';
import { configOf } from './container-config-fixture.ts';

async function environmentOf(of: Parameters<typeof configOf>[0]): Promise<Record<string, string>> {
  const { envs = [] } = await configOf(of);
  return Object.fromEntries(envs.map(({ key, value }) => [key!, value!]));
}

const b64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the environment', () => {
  it('reads values from fields, resources, config maps and secrets, later over earlier', async () => {
    const environment = await environmentOf({
      prepare(world) {
        world.configMaps.set('settings', { REPLACE: 'from map', DUPE: 'map', 'bad=name': 'x' });
        world.secrets.set('keys', { metadata: { name: 'keys' }, data: { token: b64('s3cret') } });
      },
      container: {
        envFrom: [
          { configMapRef: { name: 'settings' } },
          { secretRef: { name: 'keys' }, prefix: 'K_' },
          { configMapRef: { name: 'none', optional: true } },
        ],
        env: [
          { name: 'DUPE', value: 'env' },
          { name: 'USES', value: '$(REPLACE)/$(DUPE)/$$(DUPE)/$(NONE)' },
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } },
          { name: 'MEM', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
          { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'keys', key: 'token' } } },
          { name: 'MAYBE', valueFrom: { secretKeyRef: { name: 'keys', key: 'none', optional: true } } },
        ],
        resources: { requests: { cpu: '250m' } },
      },
    });
    assert.deepEqual(environment, {
      REPLACE: 'from map',
      DUPE: 'env',
      K_token: 's3cret',
      USES: 'from map/env/$(DUPE)/$(NONE)',
      NAME: 'web',
      LABEL: 'x',
      NODE: 'node-1',
      IP: '10.244.0.2',
      CPU: '250',
      MEM: '4096',
      TOKEN: 's3cret',
    });
  });

  it('names services, docker links included, unless they are turned off', async () => {
    const service = (name: string, namespace: string, clusterIP: string): Service => ({
      metadata: { name, namespace },
      spec: {
        clusterIP,
        ports: [
          { name: 'http-x', port: 80, protocol: 'TCP' },
          { port: 53, protocol: 'UDP' },
        ],
      },
    });
    const prepare = (world: FixtureWorld) => {
      world.services = () => [
        service('my-db', 'default', '10.0.0.9'),
        service('other', 'elsewhere', '10.0.0.8'),
        service('headless', 'default', 'None'),
        service('kubernetes', 'default', '10.0.0.1'),
      ];
    };
    const environment = await environmentOf({ prepare });
    assert.deepEqual(
      Object.entries(environment).filter(([name]) => name.startsWith('MY_DB')),
      [
        ['MY_DB_SERVICE_HOST', '10.0.0.9'],
        ['MY_DB_SERVICE_PORT', '80'],
        ['MY_DB_SERVICE_PORT_HTTP_X', '80'],
        ['MY_DB_PORT', 'tcp://10.0.0.9:80'],
        ['MY_DB_PORT_80_TCP', 'tcp://10.0.0.9:80'],
        ['MY_DB_PORT_80_TCP_PROTO', 'tcp'],
        ['MY_DB_PORT_80_TCP_PORT', '80'],
        ['MY_DB_PORT_80_TCP_ADDR', '10.0.0.9'],
        ['MY_DB_PORT_53_UDP', 'udp://10.0.0.9:53'],
        ['MY_DB_PORT_53_UDP_PROTO', 'udp'],
        ['MY_DB_PORT_53_UDP_PORT', '53'],
        ['MY_DB_PORT_53_UDP_ADDR', '10.0.0.9'],
      ],
    );
    assert.equal(environment['OTHER_SERVICE_HOST'], undefined);
    assert.equal(environment['HEADLESS_SERVICE_HOST'], undefined);
    const without = await environmentOf({ prepare, spec: { enableServiceLinks: false } });
    assert.deepEqual(
      Object.keys(without).filter((name) => name.endsWith('SERVICE_HOST')),
      ['KUBERNETES_SERVICE_HOST'],
    );
  });

  const refusals: { about: string; container: Partial<Container>; message: string }[] = [
    {
      about: 'a missing secret',
      container: { envFrom: [{ secretRef: { name: 'none' } }] },
      message: 'secrets "none" not found',
    },
    {
      about: 'a missing key',
      container: { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'empty', key: 'k' } } }] },
      message: "couldn't find key k in ConfigMap default/empty",
    },
    {
      about: 'an unknown field',
      container: { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.nothing' } } }] },
      message: 'unsupported fieldPath: spec.nothing',
    },
  ];
  for (const { about, container, message } of refusals) {
    it(`is refused for ${about}`, () =>
      assert.rejects(configOf({ container, prepare: (world) => void world.configMaps.set('empty', {}) }), { message }));
  }

  const expansions: [string, string][] = [
    ['$(A)', '1'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$(', '$('],
    ['$(A', '$(A'],
    ['$', '$'],
    ['$A', '$A'],
    ['x$(B)y', 'x$(B)y'],
    ['$(A)$(A)', '11'],
  ];
  for (const [text, expected] of expansions)
    it(`${text} becomes ${expected}`, () =>
      assert.equal(
        expand(text, (name) => (name === 'A' ? '1' : undefined)),
        expected,
      ));
});

describe('security', () => {
  it("lays the container's settings over the pod's", async () => {
    const { linux } = await configOf({
      container: {
        securityContext: {
          runAsUser: 5,
          capabilities: { add: ['CAP_NET_ADMIN'], drop: ['ALL'] },
          allowPrivilegeEscalation: false,
          seccompProfile: { type: 'Localhost', localhostProfile: 'p.json' },
        },
      },
      spec: { securityContext: { runAsUser: 1, runAsGroup: 2, fsGroup: 3, supplementalGroups: [4] } },
    });
    const security = linux!.securityContext!;
    assert.deepEqual(
      [security.runAsUser, security.runAsGroup, security.supplementalGroups, security.noNewPrivs],
      [{ value: 5 }, { value: 2 }, [3, 4], true],
    );
    assert.deepEqual(security.capabilities, { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] });
    assert.deepEqual(security.seccomp, { profileType: 'Localhost', localhostRef: '/var/kubelet/seccomp/p.json' });
    assert.ok(security.maskedPaths!.includes('/proc/kcore'));
  });

  it('unmasks paths for privileged containers', async () => {
    const { linux } = await configOf({ container: { securityContext: { privileged: true } } });
    assert.deepEqual([linux!.securityContext!.privileged, linux!.securityContext!.maskedPaths], [true, []]);
  });
});
