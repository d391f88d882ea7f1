import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import type { Principal } from '../../api/transport.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '../bootstrap/objects.ts';
import { MaxInFlight } from '../filters/max-in-flight.ts';
import type { RequestSlot } from '../filters/request-slot.ts';
import { parseRequestInfo } from '../request-info.ts';
import { RequestScope } from '../request-scope.ts';
import { flowConfigurationOf } from './configuration.ts';
import { FlowController } from './flow-controller.ts';

const AUTHENTICATED = 'system:authenticated';

interface Line {
  readonly user: Principal;
  readonly method?: string;
  readonly target?: string;
  readonly signal?: AbortSignal;
}

function scopeOf({ user, method = 'GET', target = '/api/v1/pods', signal }: Line): RequestScope {
  const [path = '', query = ''] = target.split('?');
  const params = new URLSearchParams(query);
  const request = {
    method,
    path,
    query,
    headers: {},
    remoteAddress: '',
    wantsObjects: false,
    wantsUpgrade: false,
    body: { kind: 'none' } as const,
    signal: signal ?? new AbortController().signal,
  };
  return new RequestScope({ request, info: parseRequestInfo({ method, path, params }), params, user });
}

interface Setup {
  readonly schemas?: readonly FlowSchema[];
  readonly levels?: readonly PriorityLevelConfiguration[];
  readonly seats?: number;
  readonly objects?: number;
  readonly bytesEach?: number;
}

function controllerOf({ schemas = [], levels = [], seats = 600, objects = 0, bytesEach = 1000 }: Setup = {}): {
  controller: FlowController;
  clock: VirtualClock;
  inFlight: MaxInFlight;
} {
  const clock = new VirtualClock();
  const inFlight = new MaxInFlight({ readOnly: Infinity, mutating: Infinity });
  const configuration = flowConfigurationOf(
    [...bootstrapFlowSchemas(), ...schemas],
    [...bootstrapPriorityLevels(), ...levels],
  );
  const controller = new FlowController(
    { clock, inFlight, measureStored: () => ({ count: objects, bytes: objects * bytesEach }) },
    seats,
    configuration,
  );
  return { controller, clock, inFlight };
}

function serviceAccount(namespace: string, name: string): Principal {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, AUTHENTICATED],
  };
}

test('requests are classified by the first schema that matches', async (t) => {
  const rule = (parts: Partial<NonNullable<NonNullable<FlowSchema['spec']>['rules']>[number]>): FlowSchema => ({
    metadata: { name: 'own' },
    spec: {
      matchingPrecedence: 50,
      priorityLevelConfiguration: { name: 'workload-low' },
      rules: [{ subjects: [{ kind: 'User', user: { name: 'eve' } }], ...parts }],
    },
  });
  const eve: Principal = { name: 'eve', groups: [AUTHENTICATED] };
  const admin: Principal = { name: 'a', groups: ['system:masters', AUTHENTICATED] };
  const node: Principal = { name: 'system:node:n', groups: ['system:nodes', AUTHENTICATED] };
  const manager: Principal = { name: 'system:kube-controller-manager', groups: [AUTHENTICATED] };
  const pods = { verbs: ['list'], apiGroups: [''], resources: ['pods'] };
  const inA = rule({ resourceRules: [{ ...pods, namespaces: ['a'] }] });
  const whole = rule({ resourceRules: [{ ...pods, clusterScope: true }] });
  const logs = rule({ resourceRules: [{ ...pods, verbs: ['*'], resources: ['pods/status'], namespaces: ['*'] }] });
  const paths = rule({ nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics/*', '/version'] }] });
  const star = rule({
    resourceRules: [{ ...pods, clusterScope: true }],
    subjects: [{ kind: 'User', user: { name: '*' } }],
  });
  const account = rule({
    subjects: [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'ns', name: '*' } }],
    resourceRules: [{ ...pods, clusterScope: true }],
  });
  const nowhere = rule({ resourceRules: [{ ...pods, clusterScope: true }] });
  nowhere.spec!.priorityLevelConfiguration.name = 'missing';
  const first: FlowSchema = { ...whole, metadata: { name: 'aaa' } };
  const cases: readonly (readonly [Line, string, (readonly FlowSchema[])?])[] = [
    [{ user: admin }, 'exempt'],
    [{ user: eve, target: '/healthz' }, 'probes'],
    [{ user: eve, method: 'POST', target: '/healthz' }, 'global-default'],
    [
      { user: manager, target: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x' },
      'system-leader-election',
    ],
    [{ user: manager, target: '/apis/coordination.k8s.io/v1/namespaces/other/leases/x' }, 'kube-controller-manager'],
    [{ user: manager, target: '/api/v1/namespaces/x/endpoints/e', method: 'PUT' }, 'endpoint-controller'],
    [{ user: node, target: '/api/v1/nodes/n/status', method: 'PATCH' }, 'system-node-high'],
    [{ user: node }, 'system-nodes'],
    [{ user: serviceAccount('kube-system', 'x') }, 'kube-system-service-accounts'],
    [
      { user: serviceAccount('kube-system', 'x'), target: '/apis/coordination.k8s.io/v1/namespaces/o/leases/x' },
      'workload-leader-election',
    ],
    [{ user: serviceAccount('ns', 'x') }, 'service-accounts'],
    [{ user: eve }, 'global-default'],
    [{ user: { name: 'ghost', groups: [] } }, 'catch-all'],
    [{ user: eve, target: '/api/v1/namespaces/a/pods' }, 'own', [inA]],
    [{ user: eve, target: '/api/v1/namespaces/b/pods' }, 'global-default', [inA]],
    [{ user: eve, target: '/api/v1/pods' }, 'global-default', [inA]],
    [{ user: eve, target: '/api/v1/pods' }, 'own', [whole]],
    [{ user: eve, target: '/api/v1/namespaces/a/pods' }, 'global-default', [whole]],
    [{ user: eve, target: '/api/v1/namespaces/a/pods/p/status' }, 'own', [logs]],
    [{ user: eve, target: '/api/v1/namespaces/a/pods/p' }, 'global-default', [logs]],
    [{ user: eve, target: '/metrics/cadvisor' }, 'own', [paths]],
    [{ user: eve, target: '/metrics' }, 'global-default', [paths]],
    [{ user: eve, target: '/version' }, 'own', [paths]],
    [{ user: { name: 'bob', groups: [] } }, 'own', [star]],
    [{ user: serviceAccount('ns', 'x') }, 'own', [account]],
    [{ user: serviceAccount('nsx', 'x') }, 'service-accounts', [account]],
    [{ user: eve }, 'global-default', [nowhere]],
    [{ user: eve }, 'aaa', [whole, first]],
  ];
  for (const [line, expected, schemas = []] of cases)
    await t.test(`${line.user.name} ${line.method ?? 'GET'} ${line.target ?? ''} ${expected}`, () => {
      const { controller } = controllerOf({ schemas });
      assert.equal(controller.classify(scopeOf(line)).name, expected);
      assert.equal(controller.classify(scopeOf(line)).name, expected);
    });
});

function queueing(name: string, parts: object = {}): { schemas: FlowSchema[]; levels: PriorityLevelConfiguration[] } {
  const subjects = [{ kind: 'Group', group: { name: AUTHENTICATED } }];
  const resourceRules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }];
  return {
    schemas: [
      {
        metadata: { name, uid: 'schema-uid' },
        spec: {
          matchingPrecedence: 10,
          priorityLevelConfiguration: { name },
          distinguisherMethod: { type: 'ByUser' },
          rules: [{ subjects, resourceRules }],
        },
      },
    ],
    levels: [
      {
        metadata: { name, uid: 'level-uid' },
        spec: {
          type: 'Limited',
          limited: {
            nominalConcurrencyShares: 245,
            lendablePercent: 0,
            borrowingLimitPercent: 0,
            limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 } },
            ...parts,
          },
        },
      },
    ],
  };
}

const user = (name: string): Principal => ({ name, groups: [AUTHENTICATED] });

test('a flooding user does not starve another', async () => {
  // 245 of 490 shares: ten seats.
  const { controller, clock } = controllerOf({ ...queueing('tight'), seats: 20 });
  const finished = new Map<string, number[]>();
  const refused = new Map<string, number>();
  const send = async (name: string): Promise<void> => {
    try {
      const place = await controller.enter(scopeOf({ user: user(name), target: '/api/v1/nodes' }), 15_000);
      await clock.sleep(100);
      place.leave();
      finished.set(name, [...(finished.get(name) ?? []), clock.monotonicMs()]);
    } catch {
      refused.set(name, (refused.get(name) ?? 0) + 1);
    }
  };
  // 400 at once: 10 run, 300 wait in the six queues of the hand, 90 are refused.
  const flood = Array.from({ length: 400 }, () => send('flood'));
  const polite = Array.from({ length: 20 }, () => send('polite'));
  await clock.advance(10_000);
  await Promise.all([...flood, ...polite]);
  assert.deepEqual([refused.get('flood'), refused.get('polite')], [90, undefined]);
  assert.deepEqual([finished.get('flood')!.length, finished.get('polite')!.length], [310, 20]);
  // The queues of both take turns: 20 requests among 12 queues finish long before the flood, which takes 33 rounds.
  assert.ok(finished.get('polite')!.at(-1)! <= 800, String(finished.get('polite')!.at(-1)));
  assert.equal(finished.get('flood')!.at(-1), 3300);
  controller.stop();
});

test('long requests are charged for their time: two users get the same of it', async () => {
  const { controller, clock } = controllerOf({ ...queueing('tight'), seats: 2 });
  const served = new Map<string, number>();
  let over = false;
  const worker = async (name: string, ms: number): Promise<void> => {
    while (!over) {
      const place = await controller.enter(scopeOf({ user: user(name) }), 1_000_000);
      await clock.sleep(ms);
      place.leave();
      served.set(name, (served.get(name) ?? 0) + ms);
    }
  };
  const workers = [1, 2, 3].flatMap(() => [worker('long', 400), worker('short', 20)]);
  await clock.advance(120_000);
  over = true;
  await clock.advance(10_000);
  await Promise.all(workers);
  const [long = 0, short = 0] = [served.get('long'), served.get('short')];
  assert.ok(Math.abs(long - short) / (long + short) < 0.1, `${long} ${short}`);
  controller.stop();
});

async function codeOf(place: () => RequestSlot | Promise<RequestSlot>): Promise<string> {
  try {
    await place();
    return 'in';
  } catch (error) {
    const { code, details } = (error as { status: { code: number; details: { retryAfterSeconds: number } } }).status;
    return `${code} ${details.retryAfterSeconds}`;
  }
}

test('refusals: no queue, a full one, a long wait, a client that left', async () => {
  const reject = queueing('tight', { limitResponse: { type: 'Reject' } });
  const one = controllerOf({ ...reject, seats: 2 });
  const scope = (signal?: AbortSignal) => scopeOf({ user: user('u'), ...(signal && { signal }) });
  const held = await one.controller.enter(scope(), 1000);
  assert.equal(await codeOf(() => one.controller.enter(scope(), 1000)), '429 1');
  held.leave();
  assert.equal(await codeOf(() => one.controller.enter(scope(), 1000)), 'in');

  const queuing = { queues: 1, handSize: 1, queueLengthLimit: 2 };
  const { controller, clock, inFlight } = controllerOf({
    ...queueing('tight', { limitResponse: { type: 'Queue', queuing } }),
    seats: 2,
  });
  const first = await controller.enter(scope(), 1000);
  const abort = new AbortController();
  const waits = codeOf(() => controller.enter(scope(), 1000));
  const leaves = codeOf(() => controller.enter(scope(abort.signal), 5000));
  assert.equal(await codeOf(() => controller.enter(scope(), 1000)), '429 1');
  await clock.advance(1000);
  assert.equal(await waits, '429 1');
  abort.abort();
  assert.equal(await leaves, '429 1');
  const text = controller.expose();
  for (const reason of ['queue-full', 'time-out', 'cancelled'])
    assert.match(
      text,
      new RegExp(`rejected_requests_total{flow_schema="tight",priority_level="tight",reason="${reason}"} 1\n`),
    );
  assert.match(text, /current_inqueue_requests{flow_schema="tight",priority_level="tight"} 0\n/);
  assert.match(text, /current_executing_requests{flow_schema="tight",priority_level="tight"} 1\n/);
  assert.equal(inFlight.readOnly, 1);
  first.leave();
  assert.equal(inFlight.readOnly, 0);
  controller.stop();
  one.controller.stop();
});

test('lists take seats by the number of objects, a watch during its initialization', async (t) => {
  const cases: readonly (readonly [string, string, number, number, number?])[] = [
    ['an object', '/api/v1/namespaces/a/pods/p', 5000, 1],
    ['a small list', '/api/v1/pods', 100, 1],
    ['a list', '/api/v1/pods', 350, 4],
    ['a large list', '/api/v1/pods', 50_000, 10],
    ['a page', '/api/v1/pods?limit=500', 50_000, 5],
    ['a page of a selection', '/api/v1/pods?limit=500&labelSelector=a', 50_000, 10],
    ['one by name', '/api/v1/pods?fieldSelector=metadata.name%3Dx', 50_000, 1],
    ['a watch from a revision', '/api/v1/pods?watch=true&resourceVersion=7', 350, 1],
    ['a watch that begins with all', '/api/v1/pods?watch=true', 350, 4],
    ['nothing', '/api/v1/pods', 0, 1],
    ['few large objects', '/api/v1/pods', 10, 6, 60_000],
    ['one of few large objects', '/api/v1/pods?limit=1', 10, 1, 60_000],
    ['many small objects', '/api/v1/pods', 500, 2, 300],
  ];
  for (const [name, target, objects, expected, bytesEach] of cases)
    await t.test(name, async () => {
      const { controller } = controllerOf({ ...queueing('tight'), objects, ...(bytesEach && { bytesEach }) });
      const place = await controller.enter(scopeOf({ user: user('u'), target }), 1000);
      const { seatsTaken } = controller.levels.find((level) => level.name === 'tight')!;
      assert.equal(seatsTaken, expected);
      place.leave();
      controller.stop();
    });
});

test('a busy level borrows from idle ones after ten seconds, and returns the seats', async () => {
  const { controller, clock } = controllerOf();
  const level = controller.levels.find(({ name }) => name === 'global-default')!;
  const random = createSeededRandom(1);
  let over = false;
  const worker = async (index: number): Promise<void> => {
    while (!over) {
      const place = await controller.enter(scopeOf({ user: user(`u${index}`), target: '/api/v1/nodes' }), 60_000);
      await clock.sleep(50 + 50 * random.next());
      place.leave();
    }
  };
  assert.equal(level.seats, 49);
  const workers = Array.from({ length: 200 }, (_, index) => worker(index));
  await clock.advance(9000);
  assert.equal(level.executing, 49);
  await clock.advance(1500);
  // The other levels lend 23 + 49 + 24 + 221 + ... of their unused seats; all 200 run.
  assert.equal(level.executing, 200);
  assert.ok(level.seats >= 200 && level.seats <= 349, String(level.seats));
  over = true;
  await clock.advance(20_000);
  await Promise.all(workers);
  assert.ok(level.idle);
  // Nothing left to settle: no timer runs.
  await clock.advance(100_000);
  assert.equal(level.demand.value, 0);
});

test('a deleted level serves its queued requests', async () => {
  const { controller } = controllerOf({ ...queueing('tight'), seats: 2 });
  const scope = () => scopeOf({ user: user('u') });
  const first = await controller.enter(scope(), 1000);
  const second = controller.enter(scope(), 1000);
  controller.configure(flowConfigurationOf(bootstrapFlowSchemas(), bootstrapPriorityLevels()));
  assert.equal(controller.classify(scope()).name, 'global-default');
  first.leave();
  (await second).leave();
  assert.ok(!controller.levels.some(({ name }) => name === 'tight'));
  controller.stop();
});
