import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, Service } from '../../api/gen/core-v1.ts';
import type { ContainerConfig } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { expand } from './expansion.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import {
  containerResources,
  milliCpuToQuota,
  milliCpuToShares,
  oomScoreAdjust,
  type LinuxResourceConfig,
} from './linux-resources.ts';
import { createRuntimeFixture, podOf, type FixtureWorld } from './runtime-fixture.ts';
import { signalOf } from './stop-signal.ts';
import { mountedAsResolved, resolveInside } from './subpath.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';

const base: Container = { name: 'main', image: 'app:1' };

/** The configuration a container of this pod is created with. */
async function configOf(of: {
  container?: Partial<Container>;
  spec?: Partial<NonNullable<Pod['spec']>>;
  prepare?: (world: FixtureWorld) => void;
  uid?: number;
  username?: string;
}): Promise<Init<ContainerConfig>> {
  const fixture = createRuntimeFixture({
    images: [
      image('app:1', {
        ...(of.uid === undefined ? {} : { uid: of.uid }),
        ...(of.username === undefined ? {} : { username: of.username }),
      }),
    ],
  });
  of.prepare?.(fixture.world);
  const result = await fixture.sync(
    podOf(
      { containers: [{ ...base, ...of.container }], ...of.spec },
      { labels: { app: 'x' }, annotations: { note: 'y' } },
    ),
  );
  if (result.error !== undefined) throw new Error(result.steps.at(-1)!.message);
  return [...fixture.cri.containers.values()][0]!.init.config;
}

async function environmentOf(of: Parameters<typeof configOf>[0]): Promise<Record<string, string>> {
  const { envs = [] } = await configOf(of);
  return Object.fromEntries(envs.map(({ key, value }) => [key!, value!]));
}

const b64 = (text: string): string => Buffer.from(text).toString('base64');

describe('the environment', () => {
  it('takes values from fields, resources, config maps and secrets, later over earlier', async () => {
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

  it('unmasks for the privileged', async () => {
    const { linux } = await configOf({ container: { securityContext: { privileged: true } } });
    assert.deepEqual([linux!.securityContext!.privileged, linux!.securityContext!.maskedPaths], [true, []]);
  });

  const nonRoot: { about: string; context: object; uid?: number; username?: string; refused?: RegExp }[] = [
    { about: 'an image that runs as root', context: { runAsNonRoot: true }, refused: /image will run as root/ },
    {
      about: 'a user who is root',
      context: { runAsNonRoot: true, runAsUser: 0 },
      refused: /runAsUser breaks non-root policy/,
    },
    { about: 'a user by name', context: { runAsNonRoot: true }, username: 'bob', refused: /non-numeric user \(bob\)/ },
    { about: 'a user of the image', context: { runAsNonRoot: true }, uid: 9 },
    { about: 'a user of the pod', context: { runAsNonRoot: true, runAsUser: 8 } },
  ];
  for (const { about, context, refused, ...user } of nonRoot) {
    it(`runAsNonRoot and ${about}`, async () => {
      const work = configOf({ container: { securityContext: context }, ...user });
      if (refused === undefined) await work;
      else await assert.rejects(work, refused);
    });
  }
});

describe('resources', () => {
  it('become shares, quota and limits', async () => {
    const { linux } = await configOf({
      container: { resources: { requests: { cpu: '250m', memory: '1Gi' }, limits: { cpu: '500m', memory: '2Gi' } } },
    });
    const { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, oomScoreAdj, unified } = linux!.resources!;
    assert.deepEqual(
      { cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, oomScoreAdj, unified },
      {
        cpuShares: 256,
        cpuQuota: 50_000,
        cpuPeriod: 100_000,
        memoryLimitInBytes: 2 ** 31,
        oomScoreAdj: 750,
        unified: { 'memory.oom.group': '1' },
      },
    );
  });

  const gi = 2 ** 30;
  const v2 = {
    cgroupVersion: 2,
    memoryCapacityBytes: 4 * gi,
    hugePageSizesBytes: [],
    singleProcessOomKill: true,
  } as const;
  const limited = { ...v2, swapController: true, swapBehavior: 'LimitedSwap', swapCapacityBytes: 2 * gi } as const;
  const tiered = { ...v2, memoryQos: { throttlingFactor: 0.5, tieredReservation: true } } as const;
  const half = { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } };
  const whole = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
  const memoryCases: readonly [string, Container['resources'], Parameters<typeof containerResources>[2], object][] = [
    ['no swap unless it is said', half, { ...limited, swapBehavior: 'NoSwap' }, { 'memory.swap.max': '0' }],
    ['swap by the share of memory', half, limited, { 'memory.swap.max': String(gi / 2) }],
    ['no swap for guaranteed pods', whole, limited, { 'memory.swap.max': '0' }],
    ['no swap for pods that ask for nothing', {}, limited, { 'memory.swap.max': '0' }],
    [
      'burstable memory is kept softly and throttled',
      half,
      tiered,
      { 'memory.low': String(gi), 'memory.high': String(1.5 * gi) },
    ],
    ['guaranteed memory is kept hard', whole, tiered, { 'memory.min': String(gi) }],
    ['best effort memory is throttled by the node', {}, tiered, { 'memory.high': String(2 * gi) }],
  ];
  for (const [about, resources, config, unified] of memoryCases) {
    it(about, () => {
      const container = { ...base, ...(resources === undefined ? {} : { resources }) };
      assert.deepEqual(containerResources(podOf({ containers: [container] }), container, config).unified, unified);
    });
  }

  const quotas: [
    string,
    Partial<Pick<LinuxResourceConfig, 'cpuCfsQuota' | 'cpuCfsQuotaPeriodUs'>>,
    (number | undefined)[],
  ][] = [
    ['as upstream', {}, [100_000, 100_000]],
    ['another period', { cpuCfsQuotaPeriodUs: 20_000 }, [20_000, 20_000]],
    ['none where cpuCFSQuota is false', { cpuCfsQuota: false }, [undefined, undefined]],
  ];
  for (const [about, config, expected] of quotas)
    it(`quota and period: ${about}`, () => {
      const container = { ...base, resources: whole };
      const { cpuQuota, cpuPeriod } = containerResources(podOf({ containers: [container] }), container, {
        ...v2,
        ...config,
      });
      assert.deepEqual([cpuQuota, cpuPeriod], expected);
    });

  it('huge pages: of each size the node has as many as the limits say, or none', () => {
    const container = { ...base, resources: { limits: { 'hugepages-2Mi': '4Mi' } } };
    const node = { ...v2, hugePageSizesBytes: [2 ** 21, gi] };
    assert.deepEqual(containerResources(podOf({ containers: [container] }), container, node).hugepageLimits, [
      { pageSize: '2MB', limit: 2 ** 22 },
      { pageSize: '1GB', limit: 0 },
    ]);
  });

  it('round as upstream', () => {
    assert.deepEqual([0, 1, 10, 1000, 1e9].map(milliCpuToShares), [2, 2, 10, 1024, 262_144]);
    assert.deepEqual(
      [0, 1, 10, 1500].map((milli) => milliCpuToQuota(milli)),
      [0, 1000, 1000, 150_000],
    );
  });

  const scores: { about: string; resources: Container['resources']; expected: number; qos: string }[] = [
    { about: 'nothing asked', resources: {}, expected: 1000, qos: 'BestEffort' },
    {
      about: 'all guaranteed',
      resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
      expected: -997,
      qos: 'Guaranteed',
    },
    { about: 'a little', resources: { requests: { memory: '1' } }, expected: 999, qos: 'Burstable' },
    { about: 'everything', resources: { requests: { memory: '4Gi' } }, expected: 3, qos: 'Burstable' },
  ];
  for (const { about, resources, expected, qos } of scores) {
    it(`${about}: ${qos}, ${expected}`, () => {
      const container = { ...base, ...(resources === undefined ? {} : { resources }) };
      const pod = podOf({ containers: [container] });
      assert.equal(podQosClass(pod), qos);
      assert.equal(oomScoreAdjust(pod, container, 4 * 2 ** 30), expected);
    });
  }

  it('name stop signals', () =>
    assert.deepEqual([undefined, 'SIGUSR1', 'SIGRTMIN+3', 'SIGRTMAX-2'].map(signalOf), [
      'RUNTIME_DEFAULT',
      'SIGUSR1',
      'SIGRTMINPLUS3',
      'SIGRTMAXMINUS2',
    ]));
});

describe('mounts', () => {
  const withVolume = (world: FixtureWorld) =>
    void world.volumes.set('data', {
      name: 'data',
      hostPath: '/vol/data',
      readOnly: false,
      selinuxRelabel: true,
      block: false,
    });

  it('are the volumes, the hosts file and the termination message file', async () => {
    const { mounts = [] } = await configOf({
      prepare: withVolume,
      container: {
        volumeMounts: [{ name: 'data', mountPath: 'data', readOnly: true, mountPropagation: 'HostToContainer' }],
        terminationMessagePath: '/dev/termination-log',
      },
    });
    assert.deepEqual(mounts.slice(0, 2), [
      {
        containerPath: '/data',
        hostPath: '/vol/data',
        readonly: true,
        recursiveReadOnly: false,
        selinuxRelabel: true,
        propagation: 'PROPAGATION_HOST_TO_CONTAINER',
      },
      {
        containerPath: '/etc/hosts',
        hostPath: '/var/kubelet/pods/uid-1/etc-hosts',
        readonly: false,
        selinuxRelabel: true,
      },
    ]);
    assert.equal(mounts[2]!.containerPath, '/dev/termination-log');
    assert.match(mounts[2]!.hostPath!, /^\/var\/kubelet\/pods\/uid-1\/containers\/main\/\w{8}$/);
  });

  const refusals: { about: string; mount: object; message: RegExp }[] = [
    {
      about: 'a volume that is not there',
      mount: { name: 'none', mountPath: '/x' },
      message: /cannot find volume "none" to mount into container "main"/,
    },
    {
      about: 'a sub-path expression without value',
      mount: { name: 'data', mountPath: '/x', subPathExpr: '$(NOPE)' },
      message: /missing value for "NOPE"/,
    },
    {
      about: 'recursive read-only where there is none',
      mount: { name: 'data', mountPath: '/x', readOnly: true, recursiveReadOnly: 'Enabled' },
      message: /not supported by the runtime/,
    },
    {
      about: 'a sub-path upwards',
      mount: { name: 'data', mountPath: '/x', subPath: '../y' },
      message: /failed to prepare subPath/,
    },
  ];
  for (const { about, mount, message } of refusals) {
    it(`refuse ${about}`, () =>
      assert.rejects(configOf({ prepare: withVolume, container: { volumeMounts: [mount as never] } }), message));
  }

  it("leave a hosts file of the container's own alone", async () => {
    const { mounts = [] } = await configOf({
      prepare: withVolume,
      container: { volumeMounts: [{ name: 'data', mountPath: '/etc/hosts' }] },
    });
    assert.deepEqual(
      mounts.map((mount) => mount.hostPath),
      ['/vol/data'],
    );
  });
});

describe('sub-paths', () => {
  const cases: { about: string; links: Record<string, string>; path: string; expected: string | RegExp }[] = [
    { about: 'plain', links: {}, path: 'a/b', expected: '/v/a/b' },
    { about: 'a link inside', links: { '/v/l': 'a' }, path: 'l/b', expected: '/v/a/b' },
    { about: 'an absolute link inside', links: { '/v/l': '/v/a' }, path: 'l', expected: '/v/a' },
    { about: 'a link up and back', links: { '/v/a/l': '../c' }, path: 'a/l', expected: '/v/c' },
    { about: 'a link out', links: { '/v/l': '../../etc' }, path: 'l', expected: /leaves the volume/ },
    { about: 'an absolute link out', links: { '/v/l': '/etc' }, path: 'l/x', expected: /leaves the volume/ },
    {
      about: 'a link to a name that only begins alike',
      links: { '/v/l': '/vx' },
      path: 'l',
      expected: /leaves the volume/,
    },
    { about: 'a circle', links: { '/v/l': 'm', '/v/m': 'l' }, path: 'l', expected: /too many symbolic links/ },
  ];
  for (const { about, links, path, expected } of cases) {
    it(about, async () => {
      const { files } = createSimPlatform();
      for (const directory of ['/v/a', '/v/c', '/etc', '/vx']) await files.makeDir(directory);
      for (const [link, target] of Object.entries(links)) await files.symlink(target, link);
      if (expected instanceof RegExp) await assert.rejects(resolveInside(files, '/v', path), expected);
      else assert.equal(await resolveInside(files, '/v', path), expected);
    });
  }

  it('are compared with what the kernel mounted', () => {
    const infos = [
      { device: '8:1', root: '/', path: '/' },
      { device: '8:2', root: '/vols/x', path: '/v' },
    ];
    const mounted = (root: string, device = '8:2') => [...infos, { device, root, path: '/t' }];
    assert.equal(mountedAsResolved(mounted('/vols/x/a'), '/v/a', '/t'), true);
    assert.equal(mountedAsResolved(mounted('/vols/x/b'), '/v/a', '/t'), false);
    assert.equal(mountedAsResolved(mounted('/etc', '8:1'), '/v/a', '/t'), false);
    assert.equal(mountedAsResolved(infos, '/v/a', '/t'), false);
  });
});
