import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import {
  containerResources,
  milliCpuToQuota,
  milliCpuToShares,
  oomScoreAdjust,
  type LinuxResourceConfig,
} from './linux-resources.ts';
import { podOf } from './runtime-fixture.ts';
import { signalOf } from './stop-signal.ts';
import { base, configOf } from './container-config-fixture.ts';

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

  const shares: readonly (readonly [string, string | undefined, readonly (string | undefined)[], readonly number[]])[] =
    [
      ['nothing as a whole', undefined, ['1Gi', undefined], [750, 999]],
      ['all that is left over', '2Gi', [undefined, undefined], [750, 750]],
      ['what containers leave over', '2Gi', ['1Gi', undefined], [625, 875]],
      ['no more than containers ask for', '1Gi', ['1Gi', undefined], [750, 999]],
    ];
  for (const [about, asked, requests, expected] of shares)
    it(`score with ${about}`, () => {
      const containers = requests.map((memory, index) => ({
        ...base,
        name: `c${index}`,
        ...(memory && { resources: { requests: { memory } } }),
      }));
      const pod = podOf({ containers, ...(asked && { resources: { requests: { memory: asked } } }) });
      assert.deepEqual(
        containers.map((container) => oomScoreAdjust(pod, container, 4 * gi)),
        expected,
      );
    });

  it('score a sidecar no worse than the containers, with its share', () => {
    const sidecar: Container = { ...base, name: 's', restartPolicy: 'Always' };
    const main: Container = { ...base, resources: { requests: { memory: '1Gi' } } };
    const resources = { requests: { memory: '2Gi' } };
    const pod = podOf({ initContainers: [sidecar], containers: [main], resources });
    assert.deepEqual([oomScoreAdjust(pod, sidecar, 4 * gi), oomScoreAdjust(pod, main, 4 * gi)], [625, 625]);
  });

  it('name stop signals', () =>
    assert.deepEqual([undefined, 'SIGUSR1', 'SIGRTMIN+3', 'SIGRTMAX-2'].map(signalOf), [
      'RUNTIME_DEFAULT',
      'SIGUSR1',
      'SIGRTMINPLUS3',
      'SIGRTMAXMINUS2',
    ]));
});
