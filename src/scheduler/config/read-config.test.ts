import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testPluginDeps } from '../scheduler-fixture.ts';
import { knownPlugins } from '../plugins/list.ts';
import { createProfiles } from '../profiles.ts';
import { parseGoDuration } from './go-duration.ts';
import { readSchedulerConfig } from './read-config.ts';
import { SchedulerConfigError } from './fields.ts';
import { defaultSchedulerConfig, type ProfileConfig } from './scheduler-config.ts';

const HEAD = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n';
const profilesOf = (text: string): readonly ProfileConfig[] => readSchedulerConfig(HEAD + text).profiles;
const made = (profiles: readonly ProfileConfig[]) =>
  createProfiles(
    { ...testPluginDeps(), known: knownPlugins, recorderFor: () => ({ eventf: () => undefined }) },
    profiles,
  );

test('an empty file is the default', () => {
  const { profiles, podInitialBackoffMs, podMaxBackoffMs, leaderElection } = readSchedulerConfig(HEAD);
  const [given, usual] = [made(profiles), made(defaultSchedulerConfig().profiles)].map((all) => {
    const profile = all.get('default-scheduler');
    const points = Object.entries(profile?.points ?? {}).map(([point, list]) => [point, list.map(({ name }) => name)]);
    return { points, weights: profile?.weights };
  });
  const scoring = (weights: Readonly<Record<string, number>> = {}) => [
    weights['TaintToleration'],
    weights['NodeAffinity'],
    weights['DynamicResources'],
  ];
  assert.deepEqual(given?.points, usual?.points);
  assert.deepEqual(scoring(given?.weights), [3, 2, 2]);
  assert.deepEqual([podInitialBackoffMs, podMaxBackoffMs, leaderElection.leaderElect], [1000, 10_000, true]);
});

test('plugins: multi-point, own points, weights and order', () => {
  const [profile] = profilesOf(`
profiles:
- schedulerName: packed
  percentageOfNodesToScore: 30
  plugins:
    multiPoint:
      disabled: [{ name: ImageLocality }]
      enabled: [{ name: TaintToleration, weight: 7 }, { name: NodeLabel }]
    score:
      disabled: [{ name: PodTopologySpread }]
      enabled: [{ name: NodeResourcesFit, weight: 5 }]
    filter:
      disabled: [{ name: '*' }]
      enabled: [{ name: NodeResourcesFit }, { name: NodeName }]
  pluginConfig:
  - name: NodeResourcesFit
    args: { scoringStrategy: { type: MostAllocated, resources: [{ name: cpu, weight: 3 }] } }
`);
  assert.ok(profile !== undefined);
  const points = made([profile]).get('packed')?.points;
  assert.deepEqual(
    points?.filter.map(({ name }) => name),
    ['NodeResourcesFit', 'NodeName'],
  );
  const scoring = points?.score.map(({ name }) => [name, profile.weights[name]]);
  assert.deepEqual(scoring, [
    ['NodeResourcesFit', 5],
    ['TaintToleration', 7],
    ['NodeAffinity', 2],
    ['InterPodAffinity', 2],
    ['DynamicResources', 2],
    ['NodeResourcesBalancedAllocation', 1],
    ['NodeLabel', 1],
  ]);
  assert.equal(profile.percentageOfNodesToScore, 30);
});

const refused: readonly (readonly [string, string, RegExp])[] = [
  ['unknown field', 'podInitialBackofSeconds: 1', /unknown field "podInitialBackofSeconds"/],
  [
    'percentage',
    'percentageOfNodesToScore: 120',
    /percentageOfNodesToScore: Invalid value: 120: not in valid range \[0-100\]/,
  ],
  [
    'back-off',
    'podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 2',
    /podMaxBackoffSeconds: Invalid value: 2: must be greater than or equal/,
  ],
  ['no name', 'profiles: [{}, { schedulerName: b }]', /profiles\[0\].schedulerName: Required value/],
  [
    'same name',
    'profiles: [{ schedulerName: a }, { schedulerName: a }]',
    /profiles\[1\].schedulerName: Duplicate value: "a"/,
  ],
  [
    'two sorts',
    'profiles: [{ schedulerName: a }, { schedulerName: b, plugins: { queueSort: { disabled: [{ name: "*" }] } } }]',
    /profiles\[1\].plugins.queueSort: Invalid value: has to match for all profiles/,
  ],
  [
    'no such plugin',
    'profiles: [{ plugins: { filter: { enabled: [{ name: Nope }] } } }]',
    /profiles\[0\].plugins.filter.enabled\[0\].name: Invalid value: "Nope": plugin does not exist/,
  ],
  [
    'arguments of the wrong plugin',
    'profiles: [{ pluginConfig: [{ name: NodeName, args: {} }] }]',
    /profiles\[0\].pluginConfig\[0\].name: Invalid value: "NodeName"/,
  ],
  [
    'argument out of range',
    'profiles: [{ pluginConfig: [{ name: InterPodAffinity, args: { hardPodAffinityWeight: 101 } }] }]',
    /profiles\[0\].pluginConfig\[0\].args.hardPodAffinityWeight: Invalid value: 101: not in valid range \[0-100\]/,
  ],
  [
    'too little time for devices',
    'profiles: [{ pluginConfig: [{ name: DynamicResources, args: { bindingTimeout: 999ms } }] }]',
    /args.bindingTimeout: Invalid value: "999ms": must be at least 1 second/,
  ],
  [
    'shape missing',
    'profiles: [{ pluginConfig: [{ name: NodeResourcesFit, args: { scoringStrategy: { type: RequestedToCapacityRatio } } }] }]',
    /args.scoringStrategy.requestedToCapacityRatio.shape: Required value/,
  ],
  [
    'constraints of the system and a list',
    'profiles: [{ pluginConfig: [{ name: PodTopologySpread, args: { defaultingType: System, defaultConstraints: [{ topologyKey: z, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway }] } }] }]',
    /args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty/,
  ],
  [
    'lease',
    'leaderElection: { leaseDuration: 5s }',
    /leaderElection.leaseDuration: Invalid value: "10s": LeaseDuration must be greater/,
  ],
  [
    'extender weight',
    'extenders: [{ urlPrefix: "http://x", prioritizeVerb: p }]',
    /extenders\[0\].weight: Invalid value: 0: must have a positive weight/,
  ],
  [
    'two binders',
    'extenders: [{ urlPrefix: "http://x", bindVerb: b }, { urlPrefix: "http://y", bindVerb: b }]',
    /found 2 extenders implementing bind/,
  ],
];
for (const [name, text, problem] of refused)
  test(`refused: ${name}`, () => {
    assert.throws(
      () => readSchedulerConfig(HEAD + text),
      (error) => {
        assert.ok(error instanceof SchedulerConfigError);
        assert.match(error.message, problem);
        return true;
      },
    );
  });

test('another kind or version is refused', () => {
  assert.throws(() => readSchedulerConfig('apiVersion: v1\nkind: Pod'), /no kind "Pod" is registered for version "v1"/);
});

test('a plugin enabled at a point it does not implement is refused', () => {
  const profiles = profilesOf('profiles: [{ plugins: { score: { enabled: [{ name: NodeName }] } } }]');
  assert.throws(
    () => made(profiles),
    /profiles\[0\].plugins.score.enabled\[0\]: .*"NodeName" does not extend score plugin/,
  );
});

test('without a binder there is no profile', () => {
  const profiles = profilesOf('profiles: [{ plugins: { bind: { disabled: [{ name: DefaultBinder }] } } }]');
  assert.throws(() => made(profiles), /at least one bind plugin is needed/);
});

test('durations of the configuration are read as Go does', () => {
  const cases = ['15s', '1m30s', '1.5s', '100ms', '0', '-5s', '', '5', 's'];
  assert.deepEqual(cases.map(parseGoDuration), [15_000, 90_000, 1500, 100, 0, -5000, undefined, undefined, undefined]);
});

test('lists the settings without effect', () => {
  const text = `parallelism: 4
clientConnection: { qps: 50, burst: 100 }
profiles: [{ pluginConfig: [{ name: VolumeBinding, args: { shape: [{ utilization: 0, score: 0 }] } }] }]`;
  assert.deepEqual(readSchedulerConfig(HEAD + text).withoutEffect, [
    'parallelism',
    'clientConnection.qps',
    'clientConnection.burst',
    'profiles[0].pluginConfig[0].args.shape',
  ]);
  assert.equal(readSchedulerConfig(HEAD).withoutEffect, undefined);
});
