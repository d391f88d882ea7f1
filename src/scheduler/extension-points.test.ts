/** Plugins of others at every extension point, as a pod passes them in a scheduler that runs. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Nodes, Pods } from '../api/gen/resources.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import { conflict, internalError } from '../api/status-error.ts';
import type { FakeApi } from '../client/fake-api-fixture.ts';
import { NodeInfo } from './cache/node-info.ts';
import { defaultSchedulerConfig, enabledEverywhere, type SchedulerConfig } from './config/scheduler-config.ts';
import type { SchedulerPlugin } from './framework/plugin.ts';
import { unschedulable, type Status } from './framework/status.ts';
import type { WaitingPods } from './framework/waiting-pods.ts';
import { startScheduler, type Running } from './running-scheduler-fixture.ts';
import { testNode, testPod } from './scheduler-fixture.ts';

const skipped: Status = { code: 'skip', reasons: [], plugin: '' };
const idle = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };

interface Scene extends Running {
  readonly calls: string[];
  readonly waiting: WaitingPods;
}

/** Plugins One and Two, which record every call; `parts` are further methods of One. */
async function scene(
  t: TestContext,
  parts: Partial<SchedulerPlugin>,
  before: (api: FakeApi) => void = () => undefined,
): Promise<Scene> {
  const calls: string[] = [];
  let waiting: WaitingPods | undefined;
  const [base] = defaultSchedulerConfig().profiles;
  assert.ok(base !== undefined);
  const profile = {
    ...base,
    enabled: enabledEverywhere(['One', 'Two', ...base.enabled.filter]),
    weights: { ...base.weights, One: 2, Two: 1 },
  };
  const config: SchedulerConfig = { ...defaultSchedulerConfig(), profiles: [profile] };
  const note = (name: string, more: Partial<SchedulerPlugin> = {}): SchedulerPlugin => {
    const noted =
      <A extends unknown[], R>(point: string, then?: (...args: A) => R) =>
      (...args: A): R => {
        const place = args.find((arg) => typeof arg === 'string' || arg instanceof NodeInfo);
        const where = place instanceof NodeInfo ? place.name : place;
        calls.push([name, point, where].filter((part) => part !== undefined).join(' '));
        return then?.(...args) as R;
      };
    return {
      name,
      preEnqueue: noted('preEnqueue', more.preEnqueue),
      preFilter: noted('preFilter', more.preFilter),
      filter: noted('filter', more.filter),
      postFilter: noted('postFilter', more.postFilter ?? (() => ({ message: `${name} cannot help` }))),
      preScore: noted('preScore', more.preScore),
      score: noted('score', more.score ?? (() => 0)),
      normalize: noted('normalize', more.normalize),
      reserve: noted('reserve', more.reserve),
      unreserve: noted('unreserve'),
      permit: noted('permit', more.permit ?? (() => ({}))),
      preBindPreFlight: more.preBindPreFlight ?? (more.preBind === undefined ? () => skipped : () => undefined),
      preBind: noted('preBind', more.preBind ?? (async () => undefined)),
      bind: noted('bind', more.bind ?? (async () => skipped)),
      postBind: noted('postBind'),
      events: more.events ?? [],
    };
  };
  const run = await startScheduler(
    t,
    (api) => {
      for (const name of ['a', 'b', 'c']) api.seed(Nodes, testNode(name, { cpu: '1' }));
      api.seed(Pods, testPod('p', { cpu: '600m' }));
      before(api);
    },
    {
      config,
      plugins: [
        {
          name: 'One',
          weight: 0,
          create(deps) {
            waiting = deps.waitingPods;
            return note('One', parts);
          },
        },
        { name: 'Two', weight: 0, create: () => note('Two') },
      ],
    },
  );
  assert.ok(waiting !== undefined);
  return { ...run, calls, waiting };
}

const ofOne = (calls: readonly string[]): string[] =>
  calls.filter((call) => call.startsWith('One ')).map((call) => call.slice('One '.length));
const conditionOf = (pod: Pod | undefined): unknown[] =>
  (pod?.status?.conditions ?? []).map(({ type, status, reason, message }) => [type, status, reason, message]);
const held = { permit: () => ({ status: { code: 'wait' as const, plugin: 'One', reasons: [] }, timeoutMs: 10_000 }) };

test('a pod passes every point in order, evaluates only nodes of PreFilter, and waits for its permission', async (t) => {
  const run = await scene(t, {
    ...held,
    preFilter: () => ({ nodeNames: new Set(['a', 'b']) }),
    score: (_state, _pod, { name }) => (name === 'b' ? 7 : 3),
    normalize: (_state, _pod, scores) => scores.forEach((score, at) => void (scores[at] = score * 10)),
  });
  const toPermit = [
    ...['preEnqueue', 'preFilter', 'filter a', 'filter b', 'preScore', 'score a', 'score b', 'normalize'],
    ...['reserve b', 'permit b'],
  ];
  assert.deepEqual(ofOne(run.calls), toPermit);
  assert.deepEqual(run.waiting.get('uid-p')?.pendingPlugins, ['One']);
  await run.clock.advance(9000);
  assert.deepEqual(run.bindings(), []);
  run.waiting.get('uid-p')?.allow('One');
  await run.clock.advance(100);
  assert.deepEqual(ofOne(run.calls).slice(toPermit.length), ['bind', 'postBind b']);
  assert.equal(run.pod('p')?.spec?.nodeName, 'b');
  assert.deepEqual(run.counts(), idle);
});

for (const point of ['preFilter', 'filter', 'preScore', 'score', 'normalize', 'reserve', 'permit'] as const)
  test(`a plugin that throws at ${point} holds up its own pod alone, which is tried again`, async (t) => {
    let left = 1;
    const throwing = (...args: readonly unknown[]): unknown => {
      const pod = args.find((arg): arg is Pod => (arg as Pod | undefined)?.metadata?.uid !== undefined);
      if (pod?.metadata.name === 'p' && left-- > 0) throw new TypeError('broken');
      return { score: 0, permit: {} }[point as string];
    };
    const run = await scene(t, { [point]: throwing }, (api) => api.seed(Pods, testPod('q', { cpu: '600m' })));
    assert.deepEqual([run.pod('p')?.spec?.nodeName, run.counts()], [undefined, { ...idle, backoff: 1 }]);
    assert.notEqual(run.pod('q')?.spec?.nodeName, undefined);
    assert.match(run.events().join(), /Warning FailedScheduling (TypeError: )?broken/);
    await run.clock.advance(1000);
    assert.notEqual(run.pod('p')?.spec?.nodeName, undefined);
  });

const TOO_LATE = 'rejected due to timeout after waiting 10s at plugin One';
for (const [what, parts, act, message] of [
  ['rejected', held, (run: Scene) => run.waiting.get('uid-p')?.reject('One', 'not today'), 'not today'],
  ['waiting for too long', held, (run: Scene) => run.clock.advance(10_000), TOO_LATE],
] as const)
  test(`a pod ${what} at Permit is unreserved in reverse order, gets the message, and waits for events of the plugin`, async (t) => {
    const run = await scene(t, { ...parts, events: [{ event: 'namespace/update' }] });
    await act(run);
    await run.clock.advance(100);
    const back = run.calls.filter((call) => call.includes('unreserve'));
    assert.deepEqual(
      back.map((call) => call.split(' ')[0]),
      ['Two', 'One'],
    );
    assert.deepEqual(run.bindings(), []);
    assert.ok(run.events().includes(`Warning FailedScheduling ${message}`), run.events().join('\n'));
    assert.deepEqual(conditionOf(run.pod('p')), [['PodScheduled', 'False', 'Unschedulable', message]]);
    await run.clock.advance(60_000);
    assert.deepEqual(run.counts(), { ...idle, unschedulable: 1 });
  });

test('a pod deleted while it waits at Permit leaves its room to the next', async (t) => {
  const onlyFirst = (_state: unknown, pod: Pod) => (pod.metadata.name === 'p' ? held.permit() : {});
  const run = await scene(t, { permit: onlyFirst, preFilter: () => ({ nodeNames: new Set(['a']) }) });
  run.api.seed(Pods, testPod('q', { cpu: '600m' }));
  await run.clock.advance(100);
  assert.deepEqual(run.counts(), { ...idle, unschedulable: 1 });
  run.api.remove(Pods, 'default/p');
  await run.clock.advance(15_000);
  assert.equal(run.pod('q')?.spec?.nodeName, 'a');
  assert.deepEqual([run.waiting.all().length, run.bindings()], [0, ['q']]);
});

test('where no node fits all PostFilter plugins run, and the pod gets their messages', async (t) => {
  const run = await scene(t, { filter: () => unschedulable('One', 'no') });
  assert.deepEqual(
    run.calls.filter((call) => call.includes('postFilter')),
    ['One postFilter', 'Two postFilter'],
  );
  const [condition] = run.pod('p')?.status?.conditions ?? [];
  assert.match(condition?.message ?? '', /^0\/3 nodes are available: 3 no\. One cannot help, Two cannot help, /);
});

const away = async (): Promise<never> => {
  throw internalError('it is away');
};
for (const [point, parts] of [
  ['PreBind', { preBind: away }],
  ['Bind', { bind: away }],
  ['Reserve', { reserve: () => ({ code: 'error', plugin: 'One', reasons: ['it is away'] }) }],
] as const)
  test(`a failure at ${point} is reported and retried after a pause`, async (t) => {
    let left = 1;
    const [[name, fails]] = Object.entries(parts) as [[string, (...args: never[]) => unknown]];
    const succeeds = name === 'bind' ? async () => skipped : () => undefined;
    const run = await scene(t, { [name]: () => (left-- > 0 ? fails() : succeeds()) });
    assert.deepEqual(run.counts(), { ...idle, backoff: 1 });
    const [event = ''] = run.events().filter((text) => text.includes('FailedScheduling'));
    assert.match(event, /it is away/);
    const [condition] = run.pod('p')?.status?.conditions ?? [];
    assert.deepEqual([condition?.reason, condition?.status], ['SchedulerError', 'False']);
    await run.clock.advance(1000);
    assert.notEqual(run.pod('p')?.spec?.nodeName, undefined);
  });

const nominatedAs = (run: Scene, name = 'p'): string | undefined => run.pod(name)?.status?.nominatedNodeName;
const onA = { preFilter: () => ({ nodeNames: new Set(['a']) }) };
for (const [what, parts, expected] of [
  ['waits at Permit', held, 'a'],
  ['waits in PreBind', { preBind: () => new Promise<undefined>(() => undefined) }, 'a'],
  ['is bound at once', { preBind: async () => undefined, preBindPreFlight: () => skipped }, undefined],
] as const)
  test(`a pod that ${what} says ${expected === undefined ? 'nothing' : 'where it will be'} before it is there`, async (t) => {
    const run = await scene(t, { ...onA, ...parts });
    assert.equal(nominatedAs(run), expected);
    assert.deepEqual(run.bindings(), expected === undefined ? ['p'] : []);
    // Uses half a node, not the whole.
    run.api.seed(Pods, testPod('q', { cpu: '400m' }));
    await run.clock.advance(100);
    assert.equal(nominatedAs(run, 'q') ?? run.pod('q')?.spec?.nodeName, 'a');
  });

test('a refusal before PreBind ends the attempt; the retry uses the nominated node', async (t) => {
  const fails = ['flight', 'work'];
  const run = await scene(t, {
    score: (_state, _pod, { name }) => (name === 'a' && fails.length > 0 ? 100 : 0),
    preBindPreFlight: () => (fails[0] === 'flight' ? unschedulable('One', fails.shift() ?? '') : undefined),
    preBind: async () => (fails[0] === 'work' ? unschedulable('One', fails.shift() ?? '') : undefined),
    events: [{ event: 'namespace/update' }],
  });
  assert.ok(run.events().includes('Warning FailedScheduling flight'));
  assert.equal(nominatedAs(run), undefined);
  await run.clock.advance(340_000);
  assert.ok(run.events().includes('Warning FailedScheduling work'));
  assert.equal(nominatedAs(run), 'a');
  await run.clock.advance(340_000);
  assert.equal(run.pod('p')?.spec?.nodeName, 'a', 'though others are better now');
});

for (const [point, parts] of [
  ['Reserve', { reserve: () => unschedulable('One', 'no') }],
  ['Permit', { permit: () => ({ status: unschedulable('One', 'no') }) }],
  ['PreBindPreFlight', { preBind: async () => undefined, preBindPreFlight: () => unschedulable('One', 'no') }],
  ['Bind', { bind: away }],
] as const)
  test(`a failure at ${point}, before the node is nominated, clears an earlier nomination`, async (t) => {
    const promised = (api: FakeApi): void =>
      void api.modify<Pod>(Pods, 'default/p', (pod) => ({ ...pod, status: { nominatedNodeName: 'b' } }));
    const run = await scene(t, parts, promised);
    assert.match(run.events().join(), /FailedScheduling/);
    assert.equal(nominatedAs(run), undefined);
  });

for (const [what, error] of [
  ['goes wrong', internalError('it is away')],
  ['meets another state', conflict(Pods, 'p', 'it was changed')],
] as const)
  test(`a failure after the write of the nomination ${what} clears an earlier nomination`, async (t) => {
    let api: FakeApi | undefined;
    let left = 1;
    const failNomination = (): undefined => {
      const others = api?.intercept;
      api!.intercept = (request) => {
        const { status } = (request.body ?? {}) as Partial<Pod>;
        if (request.path.endsWith('/status') && status?.nominatedNodeName === 'a' && left-- > 0) throw error;
        others?.(request);
      };
    };
    const parts: Partial<SchedulerPlugin> = {
      filter: (_state, _pod, { name }) => (name === 'a' ? undefined : unschedulable('One', 'elsewhere')),
      preBindPreFlight: failNomination,
      preBind: away,
    };
    const run = await scene(t, parts, (made) => {
      api = made;
      api.modify<Pod>(Pods, 'default/p', (pod) => ({ ...pod, status: { nominatedNodeName: 'b' } }));
    });
    assert.equal(left, 0);
    assert.match(run.events().join(), /FailedScheduling/);
    assert.equal(nominatedAs(run), undefined);
  });

/** Fits only on the node `to` returns. The first PreBind fails after the nomination is written, others never end. */
const afterFailedWork = (t: TestContext, to: () => string, before?: (api: FakeApi) => void): Promise<Scene> => {
  let left = 1;
  return scene(
    t,
    {
      filter: (_state, _pod, { name }) => (name === to() ? undefined : unschedulable('One', 'elsewhere')),
      preBind: () => (left-- > 0 ? away() : new Promise<undefined>(() => undefined)),
    },
    before,
  );
};

for (const [what, happens] of [
  ['is full', ({ api }: Scene) => api.seed(Pods, testPod('q', { cpu: '900m', spec: { nodeName: 'a' } }))],
  ['is gone', ({ api }: Scene) => api.remove(Nodes, 'a')],
  ['is gone with all others', ({ api }: Scene) => ['a', 'b', 'c'].forEach((name) => void api.remove(Nodes, name))],
] as const)
  test(`a pod whose binding failed clears its nomination of a node that ${what}`, async (t) => {
    const run = await afterFailedWork(t, () => 'a');
    assert.equal(nominatedAs(run), 'a');
    happens(run);
    await run.clock.advance(2000);
    assert.deepEqual([nominatedAs(run), run.counts()], [undefined, { ...idle, unschedulable: 1 }]);
  });

test('a pod with an earlier nomination gets the new one', async (t) => {
  let to = 'b';
  const onceOnA = (api: FakeApi): void =>
    void api.modify<Pod>(Pods, 'default/p', (pod) => ({ ...pod, status: { nominatedNodeName: 'a' } }));
  const run = await afterFailedWork(t, () => to, onceOnA);
  assert.equal(nominatedAs(run), 'b');
  to = 'a';
  await run.clock.advance(1000);
  assert.equal(nominatedAs(run), 'a');
});

test('changes of a pod during a failed binding count at the next attempt', async (t) => {
  const over = Promise.withResolvers<undefined>();
  const tiers: (string | undefined)[] = [];
  const run = await scene(t, {
    filter: (_state, pod) => void tiers.push(pod.metadata.labels?.['tier']),
    preBind: () => over.promise.then(away),
  });
  const before = tiers.length;
  run.api.modify<Pod>(Pods, 'default/p', (pod) => ({
    ...pod,
    metadata: { ...pod.metadata, labels: { tier: 'new' } },
  }));
  await run.clock.advance(100);
  over.resolve(undefined);
  await run.clock.advance(2000);
  assert.ok(tiers.length > before);
  assert.deepEqual(new Set(tiers.slice(before)), new Set(['new']));
});
