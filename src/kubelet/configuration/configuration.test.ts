/** KubeletConfiguration: strict reading, drop-ins, flags, validation, and that no field is silently ignored. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { KUBELET_DEFAULTS } from '../kubelet-defaults.ts';
import { KubeletConfigurationError } from './decode.ts';
import { defaultOf, type FieldTable } from './field-table.ts';
import { completeConfiguration, FIELDS, type SparseConfiguration } from './fields.ts';
import { CONFIGURATION_FLAGS, KubeletFlagError } from './flags.ts';
import { type ConfigurationSources, loadConfiguration } from './load.ts';
import { settingsOf } from './settings.ts';
import { validateConfiguration } from './validate.ts';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

async function load(
  files: Readonly<Record<string, string>>,
  sources: ConfigurationSources,
): ReturnType<typeof loadConfiguration> {
  const platform = createSimPlatform();
  for (const [path, text] of Object.entries(files)) {
    await platform.clock.drive(platform.files.makeDir(path.slice(0, path.lastIndexOf('/')) || '/'));
    await platform.clock.drive(platform.files.writeFile(path, text));
  }
  return platform.clock.drive(loadConfiguration(platform.files, sources));
}

describe('the configuration file', () => {
  const bad: readonly { name: string; text: string; message: RegExp }[] = [
    { name: 'unknown field', text: `${HEAD}podz: 1`, message: /strict decoding error: unknown field "podz"/ },
    {
      name: 'unknown nested field',
      text: `${HEAD}authentication: {x509: {ca: a}}`,
      message: /unknown field "authentication\.x509\.ca"/,
    },
    {
      name: 'unknown field of an item',
      text: `${HEAD}registerWithTaints: [{key: a, kind: b}]`,
      message: /unknown field "registerWithTaints\[0\]\.kind"/,
    },
    { name: 'a key twice', text: `${HEAD}maxPods: 1\nmaxPods: 2`, message: /duplicate field "maxPods"|already set/ },
    {
      name: 'wrong type',
      text: `${HEAD}maxPods: many`,
      message: /json: cannot unmarshal string into Go struct field KubeletConfiguration\.maxPods of type int32/,
    },
    {
      name: 'no duration',
      text: `${HEAD}syncFrequency: soon`,
      message: /syncFrequency: time: invalid duration "soon"/,
    },
    {
      name: 'another kind',
      text: 'apiVersion: v1\nkind: Pod',
      message: /no kind "Pod" is registered for version "v1"/,
    },
    { name: 'no kind', text: 'maxPods: 1', message: /Object 'Kind' is missing/ },
    { name: 'no YAML', text: `${HEAD}a: [`, message: /\/c, error: error converting YAML to JSON/ },
  ];
  for (const { name, text, message } of bad)
    it(`refuses ${name}`, () => assert.rejects(load({ '/c': text }, { file: '/c' }), { message }));

  it('is merged with drop-ins in order, and flags win', async () => {
    const config = await load(
      {
        '/c': `${HEAD}maxPods: 10\nclusterDNS: [10.0.0.1]\nfeatureGates: {MemoryQoS: true}\nevictionHard: {memory.available: 1Gi}`,
        '/d/20.conf': `${HEAD}maxPods: 30\nkubeReserved: {cpu: 100m}`,
        '/d/10.conf': `${HEAD}maxPods: 20\nport: 11000\nclusterDNS: [10.0.0.2]\nkubeReserved: {memory: 1Gi}`,
        '/d/readme.txt': 'not read',
      },
      {
        file: '/c',
        dropInDir: '/d',
        flags: {
          port: ['12000'],
          'feature-gates': ['CustomCPUCFSQuotaPeriod=true'],
          'eviction-hard': ['nodefs.available<5%,memory.available<2Gi'],
          'register-with-taints': ['a=b:NoSchedule,c:NoExecute'],
          'anonymous-auth': ['true'],
          'manifest-url-header': ['X-One:1', 'X-One:2'],
        },
      },
    );
    assert.deepEqual(
      [config.maxPods, config.port, config.clusterDNS, config.kubeReserved, config.evictionHard, config.featureGates],
      [
        30,
        12_000,
        ['10.0.0.2'],
        { memory: '1Gi', cpu: '100m' },
        { 'nodefs.available': '5%', 'memory.available': '2Gi' },
        { MemoryQoS: true, CustomCPUCFSQuotaPeriod: true },
      ],
    );
    assert.deepEqual(
      config.registerWithTaints.map(({ key, value, effect }) => [key, value, effect]),
      [
        ['a', 'b', 'NoSchedule'],
        ['c', '', 'NoExecute'],
      ],
    );
    assert.equal(config.authentication.anonymous.enabled, true);
    assert.equal(config.authentication.webhook.cacheTTL, '2m0s', 'defaults of the rest');
    assert.deepEqual(config.staticPodURLHeader, { 'X-One': ['1', '2'] });
  });

  it('keeps default thresholds beside given ones where asked to', async () => {
    const config = await load(
      { '/c': `${HEAD}mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}` },
      { file: '/c' },
    );
    assert.equal(config.evictionHard['memory.available'], '1Gi');
    assert.equal(config.evictionHard['nodefs.available'], '10%');
  });
});

/** As kubeadm 1.36 writes it: zeros for all it says nothing about. */
const KUBEADM = `${HEAD}authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
resolvConf: /run/systemd/resolve/resolv.conf
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`;

describe('what is not set', () => {
  it('has its default also where a file says zero or nothing, as kubeadm’s does', async () => {
    const config = await load({ '/c': KUBEADM }, { file: '/c' });
    assert.deepEqual(
      config,
      completeConfiguration({
        authentication: { x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' } },
        cgroupDriver: 'systemd',
        clusterDNS: ['10.96.0.10'],
        clusterDomain: 'cluster.local',
        resolvConf: '/run/systemd/resolve/resolv.conf',
        rotateCertificates: true,
        staticPodPath: '/etc/kubernetes/manifests',
      }),
    );
    assert.equal(config.syncFrequency, '1m0s');
    assert.equal(config.containerRuntimeEndpoint, 'unix:///run/containerd/containerd.sock');
  });

  it('an empty resolvConf is a value: pods get none of the host', async () => {
    const config = await load({ '/c': `${HEAD}resolvConf: ""` }, { file: '/c' });
    assert.equal(config.resolvConf, '');
  });

  const frequencies: [string, string, string][] = [
    ['', '10s', '5m0s'],
    ['nodeStatusUpdateFrequency: 7s', '7s', '7s'],
    ['nodeStatusUpdateFrequency: 7s\nnodeStatusReportFrequency: 1m', '7s', '1m'],
  ];
  for (const [text, update, report] of frequencies)
    it(`how often the node's status is sent: ${text.replace('\n', ', ') || 'nothing said'}`, async () => {
      const config = await load({ '/c': `${HEAD}${text}` }, { file: '/c' });
      assert.deepEqual([config.nodeStatusUpdateFrequency, config.nodeStatusReportFrequency], [update, report]);
    });

  it('a flag that is no duration is refused', () =>
    assert.rejects(
      load({}, { flags: { 'sync-frequency': ['soon'] } }),
      /invalid argument "soon" for "--sync-frequency"/,
    ));
});

describe('validation', () => {
  const cases: readonly [SparseConfiguration, string][] = [
    [{ maxPods: -1 }, 'maxPods (--max-pods) -1 must not be a negative number'],
    [{ port: 0 }, 'port (--port) 0 must be between 1 and 65535, inclusive'],
    [{ oomScoreAdj: 2000 }, 'oomScoreAdj (--oom-score-adj) 2000 must be between -1000 and 1000, inclusive'],
    [{ containerLogMaxWorkers: 0 }, 'containerLogMaxWorkers must be greater than or equal to 1'],
    [{ containerLogMaxFiles: 1 }, 'containerLogMaxFiles (--container-log-max-files) must be greater than 1'],
    [
      { imageGCLowThresholdPercent: 90 },
      'imageGCLowThresholdPercent (--image-gc-low-threshold) 90 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85',
    ],
    [
      { cpuCFSQuotaPeriod: '50ms' },
      'cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 50ms requires feature gate CustomCPUCFSQuotaPeriod',
    ],
    [
      { enforceNodeAllocatable: ['pods', 'kube-reserved'] },
      'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
    [
      { crashLoopBackOff: { maxContainerRestartPeriod: '10m' } },
      'CrashLoopBackOff.MaxContainerRestartPeriod (got: 10m) must be set between 1s and 300s',
    ],
    [
      { qosReserved: { memory: '50%' } },
      'qosReserved (--qos-reserved) {"memory":"50%"} requires feature gate QOSReserved',
    ],
    [
      { qosReserved: { memory: '150%' }, featureGates: { QOSReserved: true } },
      'qosReserved (--qos-reserved): "150%" is no percentage from 0% to 100%',
    ],
    [{ topologyManagerPolicyOptions: { nearest: 'true' } }, 'unsupported topologymanager option: "nearest" ("true")'],
    [
      { topologyManagerPolicyOptions: { 'prefer-closest-numa-nodes': 'yes' } },
      'bad value for option "prefer-closest-numa-nodes": "yes"',
    ],
    [
      { topologyManagerPolicyOptions: { 'max-allowable-numa-nodes': '4' } },
      'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
    ],
    [
      { systemCgroups: '/system' },
      'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    ],
    [
      { shutdownGracePeriod: '10s', shutdownGracePeriodCriticalPods: '20s' },
      'shutdownGracePeriodCriticalPods "20s" must be <= shutdownGracePeriod "10s"',
    ],
    [{ shutdownGracePeriod: '500ms' }, 'shutdownGracePeriod "500ms" must be either zero or otherwise >= 1 sec'],
    [
      { shutdownGracePeriod: '10s', featureGates: { GracefulNodeShutdown: false } },
      'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
    ],
    [
      {
        shutdownGracePeriod: '10s',
        shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 10 }],
      },
      'cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod',
    ],
    [{ evictionHard: { 'disk.free': '1Gi' } }, 'unsupported eviction signal disk.free'],
    [
      { evictionSoft: { 'memory.available': '1Gi' } },
      'grace period must be specified for the soft eviction threshold memory.available',
    ],
    [{ featureGates: { NoSuchGate: true } }, 'unrecognized feature gate: NoSuchGate'],
    [{ featureGates: { NodeSwap: false } }, 'cannot set feature gate NodeSwap to false, feature is locked to true'],
    [
      { preloadedImagesVerificationAllowlist: ['reg.example/*'] },
      'can\'t set `preloadedImagesVerificationAllowlist` if `imagePullCredentialsVerificationPolicy` is not "NeverVerifyAllowlistedImages"',
    ],
    [
      {
        imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
        preloadedImagesVerificationAllowlist: ['*/app'],
      },
      "preloadedImagesVerificationAllowlist: not a valid wildcard pattern, only patterns ending with '/*' are allowed: */app",
    ],
    [
      {
        imagePullCredentialsVerificationPolicy: 'AlwaysVerify',
        featureGates: { KubeletEnsureSecretPulledImages: false },
      },
      '`imagePullCredentialsVerificationPolicy` and `preloadedImagesVerificationAllowlist` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled',
    ],
    [
      { tlsCipherSuites: ['TLS_AES_128_GCM_SHA256', 'TLS_NONE'] },
      "tlsCipherSuites (--tls-cipher-suites): Cipher suite TLS_NONE not supported or doesn't exist",
    ],
    [
      { enableSystemLogHandler: false, enableSystemLogQuery: true },
      'enableSystemLogHandler is required for enableSystemLogQuery',
    ],
    [{ cgroupDriver: 'other' }, 'cgroupDriver (--cgroup-driver) "other" is not known: it must be cgroupfs or systemd'],
  ];
  for (const [given, complaint] of cases)
    it(`refuses ${JSON.stringify(given)}`, () =>
      assert.deepEqual(validateConfiguration(completeConfiguration(given)), [complaint]));

  it('takes the defaults', () => assert.deepEqual(validateConfiguration(completeConfiguration({})), []));

  it('says everything that is wrong at once', () =>
    assert.rejects(load({ '/c': `${HEAD}maxPods: -1\nport: 0` }, { file: '/c' }), {
      message:
        'failed to validate kubelet configuration, error: [invalid configuration: port (--port) 0 must be between 1 and 65535, inclusive, invalid configuration: maxPods (--max-pods) -1 must not be a negative number], path: /c',
    }));
});

describe('whose fault it is', () => {
  const good = { '/c': `${HEAD}maxPods: 10` };
  const bad = { '/c': `${HEAD}port: 0` };
  const cases: readonly (readonly [string, Parameters<typeof load>, boolean])[] = [
    ["a flag's without a file", [{}, { flags: { 'max-pods': ['-5'] } }], true],
    ["a flag's beside a good file", [good, { file: '/c', flags: { 'max-pods': ['-5'] } }], true],
    ["a flag's that cannot be read", [bad, { file: '/c', flags: { 'max-pods': ['many'] } }], true],
    ["the file's without flags", [bad, { file: '/c' }], false],
    ["the file's beside a good flag", [bad, { file: '/c', flags: { 'max-pods': ['5'] } }], false],
    ["the file's beside a bad flag", [bad, { file: '/c', flags: { 'max-pods': ['-5'] } }], false],
    ["the file's when there is none", [{}, { file: '/c', flags: { 'max-pods': ['-5'] } }], false],
  ];
  for (const [whose, [files, sources], isFlags] of cases)
    it(whose, () =>
      assert.rejects(load(files, sources), (error) => {
        assert.ok(error instanceof KubeletConfigurationError);
        return error instanceof KubeletFlagError === isFlags;
      }),
    );

  it("nobody's where a flag makes good what the file says", async () =>
    assert.equal((await load(bad, { file: '/c', flags: { port: ['10250'] } })).port, 10_250));
});

describe('no field is silently ignored', () => {
  const other: Readonly<Record<string, unknown>> = {
    bool: undefined,
    int: 7,
    float: 0.5,
    string: 'another',
    duration: '7s',
    strings: ['another'],
    quantities: { cpu: '1' },
    any: [{}],
  };
  const refused = (table: FieldTable, path: readonly string[]): [readonly string[], unknown][] =>
    Object.entries(table).flatMap(([name, row]): [readonly string[], unknown][] => {
      const { type } = row;
      if (typeof type === 'object' && 'of' in type) return refused(type.of, [...path, name]);
      if (row.state !== 'refused') return [];
      const value = type === 'bool' ? defaultOf(row) !== true : typeof type === 'object' ? [{}] : other[type];
      return [[[...path, name], value]];
    });
  for (const [path, value] of refused(FIELDS, [])) {
    it(`${path.join('.')} is refused`, () => {
      const given = path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as SparseConfiguration;
      const complaints = validateConfiguration(completeConfiguration(given));
      assert.ok(complaints.some((text) => text.startsWith(`${path.join('.')}: `) && text.includes('is not supported')));
    });
  }

  it('every flag is known once', () => {
    const names = CONFIGURATION_FLAGS.map(({ flag }) => flag);
    assert.equal(new Set(names).size, names.length);
  });
});

it('settings are in milliseconds, bytes and plain words', () => {
  const settings = settingsOf(
    completeConfiguration({
      syncFrequency: '30s',
      containerLogMaxSize: '1Mi',
      serializeImagePulls: true,
      evictionSoftGracePeriod: { 'memory.available': '1m30s' },
      staticPodURLHeader: { a: ['1', '2'] },
      nodeStatusUpdateFrequency: '7s',
      volumeStatsAggPeriod: '-1s',
      containerLogMaxWorkers: 3,
      enableControllerAttachDetach: false,
      volumePluginDir: '/drivers',
      memorySwap: { swapBehavior: 'LimitedSwap' },
      evictionMinimumReclaim: { 'memory.available': '1Gi' },
      imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
      preloadedImagesVerificationAllowlist: ['reg.example/*'],
    }),
    { nodeName: 'n', rootDirectory: '/k' },
  );
  assert.equal(settings.syncFrequencyMs, 30_000);
  assert.deepEqual(settings.declaredFeatures, KUBELET_DEFAULTS.declaredFeatures);
  const silent = completeConfiguration({ featureGates: { NodeDeclaredFeatures: false } });
  assert.equal(settingsOf(silent, { nodeName: 'n', rootDirectory: '/k' }).declaredFeatures, undefined);
  assert.equal(settings.containerLogs.maxSizeBytes, 2 ** 20);
  assert.equal(settings.images.maxParallelPulls, 1);
  assert.deepEqual(settings.eviction.softGracePeriodMs, { 'memory.available': 90_000 });
  assert.deepEqual(settings.staticPodUrlHeaders, { a: '1, 2' });
  assert.equal(settings.nodeStatusUpdateFrequencyMs, 7_000);
  assert.equal(settings.volumeStatsPeriodMs, -1_000);
  assert.equal(settings.containerLogs.maxWorkers, 3);
  assert.deepEqual(settings.volumes, { gitRepo: false, pluginDir: '/drivers', attachesItself: true });
  assert.equal(settings.cgroups.swapBehavior, 'LimitedSwap');
  assert.deepEqual(settings.eviction.minimumReclaim, { 'memory.available': '1Gi' });
  assert.deepEqual(settings.images.verification, {
    policy: 'NeverVerifyAllowlistedImages',
    allowlist: ['reg.example/*'],
  });
});
