import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KUBELET_DEFAULTS } from '../kubelet-defaults.ts';
import { KubeletConfigurationError } from './decode.ts';
import { defaultOf, type FieldTable } from './field-table.ts';
import { completeConfiguration, FIELDS, type SparseConfiguration } from './fields.ts';
import { CONFIGURATION_FLAGS, KubeletFlagError } from './flags.ts';
import { HEAD, load } from './load-fixture.ts';
import { settingsOf } from './settings.ts';
import { validateConfiguration } from './validate.ts';

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

  it('keeps default thresholds beside given ones on request', async () => {
    const config = await load(
      { '/c': `${HEAD}mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}` },
      { file: '/c' },
    );
    assert.equal(config.evictionHard['memory.available'], '1Gi');
    assert.equal(config.evictionHard['nodefs.available'], '10%');
  });
});

/** As kubeadm 1.36 writes it: zeros for all fields it does not set. */
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

describe('absent fields', () => {
  it('have their defaults also where a file has zero or an empty value, as that of kubeadm', async () => {
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

describe('the source of an error', () => {
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

  it('is none where a flag overrides the value of the file', async () =>
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

  it('every flag is declared once', () => {
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
