/** Thresholds, delays and statuses of probes, on virtual time. */
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Container, Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createProbeManager, type ProbeManager } from './prober-manager.ts';
import { createResultsManager, type ResultsManager } from './results-manager.ts';
import type { ProbeResult } from './results.ts';

interface Rig {
  readonly platform: SimPlatform;
  readonly manager: ProbeManager;
  readonly results: ResultsManager;
  readonly log: string[];
  /** Generates the status again, as a sync of the pod does. */
  sync(): PodStatus;
  answer: ProbeResult;
  pod: Pod;
  status: PodStatus | undefined;
  containerId: string;
  startedAtMs: number;
}

const open: ProbeManager[] = [];
afterEach(() => {
  for (const manager of open.splice(0)) manager.stop();
});

function rig(container: Partial<Container>): Rig {
  const platform = createSimPlatform();
  const results = createResultsManager(createMemoryLog());
  const log: string[] = [];
  const note = (what: string): void => void log.push(`${platform.clock.monotonicMs()} ${what}`);
  results.onUpdate(({ type, result }) => {
    note(`${type} ${result}`);
    if (type === 'startup' && result === 'success') rigged.sync();
  });
  const manager = createProbeManager({
    platform,
    results,
    prober: {
      probe: async ({ type }) => {
        note(`probe ${type}`);
        return { result: rigged.answer, output: `${rigged.answer} of ${type}` };
      },
    },
    recorder: { event: (_target, type, reason, message) => note(`${type} ${reason}: ${message}`) },
    startSteps: { probing: () => undefined },
    podStatus: () => rigged.status,
    podByUid: () => rigged.pod,
  });
  open.push(manager);
  const rigged: Rig = {
    platform,
    manager,
    results,
    log,
    answer: 'success',
    pod: {
      metadata: { name: 'web', namespace: 'default', uid: 'u' },
      spec: { containers: [{ name: 'app', ...container }] },
    },
    status: undefined,
    containerId: 'c1',
    startedAtMs: platform.clock.nowMs(),
    sync() {
      const running: PodStatus = {
        phase: 'Running',
        containerStatuses: [
          {
            name: 'app',
            image: '',
            imageID: '',
            ready: false,
            restartCount: 0,
            containerID: `containerd://${rigged.containerId}`,
            state: { running: { startedAt: formatTime(rigged.startedAtMs) } },
          },
        ],
      };
      rigged.status = manager.updatePodStatus(rigged.pod, running);
      return rigged.status;
    },
  };
  return rigged;
}

const ready = (status: PodStatus | undefined): string =>
  `${status?.containerStatuses?.[0]?.started} ${status?.containerStatuses?.[0]?.ready}`;

describe('probes', () => {
  it('are not needed: a running container is started and ready', () => {
    assert.equal(ready(rig({}).sync()), 'true true');
  });

  it('probe readiness as soon as the container is seen to run', async () => {
    const it = rig({ readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 10 } });
    it.manager.addPod(it.pod);
    await it.platform.clock.advance(1_000);
    assert.equal(ready(it.sync()), 'true false');
    await it.platform.clock.settle();
    assert.deepEqual(it.log, ['1000 readiness failure', '1000 probe readiness', '1000 readiness success']);
    assert.equal(ready(it.sync()), 'true true');
    await it.platform.clock.advance(10_000);
    assert.equal(it.log.at(-1), '11000 probe readiness');
  });

  const periods: { about: string; annotation: string; at: number[]; said: string[] }[] = [
    { about: 'shorter than a second', annotation: '100ms', at: [0, 100, 200, 300], said: [] },
    { about: 'longer than the field says', annotation: '1.5s', at: [0, 1_500, 3_000], said: [] },
    {
      about: 'too short',
      annotation: '99ms',
      at: [0, 1_000, 2_000],
      said: ['annotation keelson.dev/readiness-probe-period: "99ms" is less than 100ms; the period is 1000ms'],
    },
    {
      about: 'no duration',
      annotation: 'often',
      at: [0, 1_000, 2_000],
      said: ['annotation keelson.dev/readiness-probe-period: "often" is not a duration; the period is 1000ms'],
    },
  ];
  for (const { about, annotation, at, said } of periods) {
    it(`take their period from an annotation: ${about}`, async () => {
      const probe = { tcpSocket: { port: 1 }, periodSeconds: 1 };
      const it = rig({ readinessProbe: probe, livenessProbe: probe });
      const annotations = { 'keelson.dev/readiness-probe-period': annotation };
      it.pod = { ...it.pod, metadata: { ...it.pod.metadata, annotations } };
      it.manager.addPod(it.pod);
      it.sync();
      await it.platform.clock.advance(at.at(-1)!);
      const times = (type: string): number[] =>
        it.log.filter((line) => line.endsWith(`probe ${type}`)).map((line) => Number(line.split(' ')[0]));
      assert.deepEqual(times('readiness'), at);
      assert.ok(
        times('liveness').every((ms) => ms % 1_000 === 0),
        'the other probes keep theirs',
      );
      assert.deepEqual(
        it.log.filter((line) => line.includes('ProbeWarning')),
        said.map((text) => `0 Warning ProbeWarning: ${text}`),
      );
    });
  }

  it('count failures and successes up to their thresholds', async () => {
    const it = rig({
      readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 2, successThreshold: 3 },
    });
    it.manager.addPod(it.pod);
    it.sync();
    await it.platform.clock.advance(2_500);
    it.answer = 'failure';
    await it.platform.clock.advance(2_000);
    assert.deepEqual(
      it.log.filter((line) => !line.includes('probe')),
      ['0 readiness failure', '2000 readiness success', '4000 readiness failure'],
    );
  });

  it('wait for the initial delay, then probe at once', async () => {
    const it = rig({ readinessProbe: { tcpSocket: { port: 1 }, initialDelaySeconds: 4, periodSeconds: 10 } });
    it.manager.addPod(it.pod);
    it.sync();
    await it.platform.clock.advance(30_000);
    const probes = it.log.filter((line) => line.includes('probe'));
    assert.deepEqual(probes, ['4000 probe readiness', '14000 probe readiness', '24000 probe readiness']);
  });

  it('hold back the others until startup succeeds, and rest after it', async () => {
    const it = rig({
      startupProbe: { tcpSocket: { port: 1 }, periodSeconds: 2 },
      readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 5 },
    });
    it.answer = 'failure';
    it.manager.addPod(it.pod);
    assert.equal(ready(it.sync()), 'false false');
    await it.platform.clock.advance(3_000);
    assert.deepEqual(
      it.log.filter((line) => line.includes('probe readiness')),
      [],
    );
    it.answer = 'success';
    await it.platform.clock.advance(1_000);
    assert.equal(it.results.get('startup', 'c1'), 'success');
    assert.equal(it.results.get('readiness', 'c1'), 'success', 'readiness is probed in the turn startup succeeds');
    const before = it.log.filter((line) => line.includes('probe startup')).length;
    await it.platform.clock.advance(20_000);
    assert.equal(it.log.filter((line) => line.includes('probe startup')).length, before);
  });

  it('do not hold an early startup failure against the container', async () => {
    const it = rig({ startupProbe: { tcpSocket: { port: 1 }, periodSeconds: 2, failureThreshold: 1 } });
    it.answer = 'failure';
    it.manager.addPod(it.pod);
    it.sync();
    await it.platform.clock.advance(1_000);
    assert.equal(it.results.get('startup', 'c1'), 'unknown');
    await it.platform.clock.advance(1_000);
    assert.equal(it.results.get('startup', 'c1'), 'failure');
  });

  it('rest after liveness failed until there is a new container', async () => {
    const it = rig({ livenessProbe: { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 1 } });
    it.answer = 'failure';
    it.manager.addPod(it.pod);
    it.sync();
    await it.platform.clock.advance(5_000);
    assert.equal(it.log.filter((line) => line.includes('probe liveness')).length, 1);
    it.containerId = 'c2';
    it.answer = 'success';
    it.sync();
    await it.platform.clock.advance(1_000);
    assert.equal(it.results.get('liveness', 'c1'), undefined);
    assert.equal(it.results.get('liveness', 'c2'), 'success');
  });

  it('do not count a try that could not be run', async () => {
    const it = rig({ livenessProbe: { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 1 } });
    it.answer = 'unknown';
    it.manager.addPod(it.pod);
    it.sync();
    await it.platform.clock.advance(5_000);
    assert.equal(it.results.get('liveness', 'c1'), 'success');
  });

  it('keep a container ready that was ready before the kubelet started', async () => {
    const it = rig({ readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 10 } });
    it.startedAtMs -= 60_000;
    const reported = {
      name: 'app',
      image: '',
      imageID: '',
      ready: true,
      started: true,
      restartCount: 0,
      containerID: 'containerd://c1',
    };
    it.pod = { ...it.pod, status: { phase: 'Running', containerStatuses: [reported] } };
    assert.equal(ready(it.sync()), 'true true');
    it.manager.addPod(it.pod);
    await it.platform.clock.settle();
    assert.equal(ready(it.sync()), 'true true');
    it.answer = 'failure';
    await it.platform.clock.advance(60_000);
    assert.equal(ready(it.sync()), 'true false');
  });

  it('are counted by result, in upstream’s words, until they end', async () => {
    const it = rig({ readinessProbe: { tcpSocket: { port: 1 }, periodSeconds: 10 } });
    const count = (result: string): number | undefined =>
      it.platform.metrics.value('prober_probe_total', {
        probe_type: 'Readiness',
        result,
        container: 'app',
        pod: 'web',
        namespace: 'default',
        pod_uid: 'u',
      });
    it.manager.addPod(it.pod);
    it.sync();
    await it.platform.clock.settle();
    it.answer = 'failure';
    await it.platform.clock.advance(20_000);
    assert.deepEqual([count('successful'), count('failed')], [1, 2]);
    it.manager.removePod(it.pod);
    assert.deepEqual([count('successful'), count('failed')], [undefined, undefined]);
  });

  it('end with their pod', async () => {
    const it = rig({ livenessProbe: { tcpSocket: { port: 1 } }, readinessProbe: { tcpSocket: { port: 1 } } });
    it.manager.addPod(it.pod);
    it.sync();
    await it.platform.clock.settle();
    it.manager.stopLivenessAndStartup(it.pod);
    assert.equal(it.results.get('liveness', 'c1'), undefined);
    assert.equal(it.results.get('readiness', 'c1'), 'success');
    it.manager.cleanupPods(new Set());
    assert.equal(it.results.get('readiness', 'c1'), undefined);
    assert.equal(it.platform.clock.pendingTimers, 0);
  });
});
