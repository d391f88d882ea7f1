/** The time at which taints of devices were added, over the API under virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTime } from '../../../api/time.ts';
import { startWithAll } from '../../all-resources-fixture.ts';

const GIVEN = '2020-01-01T00:00:00Z';

interface Taint {
  readonly key: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

async function start(version: string, resource: string) {
  const { send, platform } = await startWithAll([], `resource.k8s.io/${version}=true`);
  const path = `/apis/resource.k8s.io/${version}/${resource}`;
  const ask = async (method: string, at: string, body?: object, type = 'application/json') => {
    const answer = await send(method, at, body, { 'content-type': type });
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  };
  const now = (): string => formatTime(platform.clock.nowMs());
  return { ask, path, now, clock: platform.clock };
}

describe('the time of taints in slices', () => {
  for (const version of ['v1', 'v1beta2', 'v1beta1'])
    it(`is set by the server where absent: ${version}`, async () => {
      const { ask, path, now, clock } = await start(version, 'resourceslices');
      await clock.advance(1_500);
      const pool = { name: 'p', generation: 1, resourceSliceCount: 1 };
      const device = (name: string, taints: Taint[]): object =>
        version === 'v1beta1' ? { name, basic: { taints } } : { name, taints };
      const devices = [device('a', [{ key: 'k', effect: 'NoExecute' }]), device('b', []), { ...device('c', []) }];
      const slice = { metadata: { name: 's' }, spec: { driver: 'd.example.com', pool, nodeName: 'n', devices } };
      const first = now();
      // oxlint-disable-next-line typescript/no-explicit-any -- an answer's body
      const times = ({ spec }: any): unknown =>
        // oxlint-disable-next-line typescript/no-explicit-any -- an answer's body
        spec.devices.flatMap((one: any) => (one.basic ?? one).taints ?? []).map((taint: Taint) => taint.timeAdded);
      const made = await ask('POST', path, slice);
      assert.deepEqual(times(made), [first]);
      await clock.advance(60_000);
      assert.deepEqual(times(await ask('GET', `${path}/s`)), [first]);
      const patch = { metadata: { labels: { a: 'b' } } };
      const patched = await ask('PATCH', `${path}/s`, patch, 'application/merge-patch+json');
      assert.deepEqual([times(patched), patched.metadata.generation], [[first], 1]);
      const more = [
        device('a', [
          { key: 'k', effect: 'NoExecute', timeAdded: first },
          { key: 'other', effect: 'NoSchedule' },
        ]),
        device('b', [{ key: 'k', effect: 'NoExecute', timeAdded: GIVEN }]),
      ];
      const updated = await ask('PUT', `${path}/s`, { ...patched, spec: { ...patched.spec, devices: more } });
      assert.deepEqual([times(updated), updated.metadata.generation], [[first, now(), GIVEN], 2]);
      assert.notEqual(now(), first);
    });
});

describe('the time of taints in rules', () => {
  for (const version of ['v1beta2', 'v1alpha3'])
    it(`is set by the server, and again with another effect: ${version}`, async () => {
      const { ask, path, now, clock } = await start(version, 'devicetaintrules');
      const taint = { key: 'k', effect: 'NoSchedule' };
      const made = await ask('POST', path, { metadata: { name: 'r' }, spec: { taint } });
      const first = made.spec.taint.timeAdded;
      assert.equal(first, now());
      const change = async (spec: object): Promise<unknown> => {
        await clock.advance(60_000);
        const updated = await ask('PATCH', `${path}/r`, { spec }, 'application/merge-patch+json');
        return updated.spec.taint.timeAdded;
      };
      assert.equal(await change({ taint: { value: 'v' } }), first);
      assert.equal(await change({ taint: { effect: 'NoExecute' } }), now());
      assert.equal(await change({ taint: { effect: 'None', timeAdded: GIVEN } }), GIVEN);
      assert.equal(await change({ taint: { timeAdded: null } }), now());
    });
});

describe('the status of taint rules', () => {
  for (const version of ['v1beta2', 'v1alpha3'])
    it(`has whole conditions: ${version}`, async () => {
      const { send } = await startWithAll([], `resource.k8s.io/${version}=true`);
      const path = `/apis/resource.k8s.io/${version}/devicetaintrules`;
      const spec = { taint: { key: 'k', effect: 'NoSchedule' } };
      const made = await send('POST', path, { metadata: { name: 'r' }, spec });
      const status = { conditions: [{ type: 'T', status: 'Maybe', reason: 'R', message: '' }] };
      const answer = await send('PUT', `${path}/r/status`, { ...made.body, status });
      assert.equal(answer.status, 422, answer.text);
      assert.match(answer.text, /status\.conditions\[0\]\.status: Unsupported value/);
    });
});
