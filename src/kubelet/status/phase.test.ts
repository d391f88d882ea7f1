/** Tables of phases. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import { getPhase } from './phase.ts';

type Word = 'running' | 'started' | 'waiting' | 'ok' | 'failed' | 'restarting' | 'failing' | 'none';

function statusOf(name: string, word: Word): ContainerStatus[] {
  const base = { name, image: '', imageID: '', ready: false, restartCount: 0 };
  const ended = (exitCode: number) => ({ terminated: { exitCode } });
  switch (word) {
    case 'none':
      return [];
    case 'running':
      return [{ ...base, state: { running: {} } }];
    case 'started':
      return [{ ...base, started: true, state: { running: {} } }];
    case 'waiting':
      return [{ ...base, state: { waiting: {} } }];
    case 'ok':
      return [{ ...base, state: ended(0) }];
    case 'failed':
      return [{ ...base, state: ended(1) }];
    case 'restarting':
      return [{ ...base, state: { waiting: {} }, lastState: ended(0) }];
    case 'failing':
      return [{ ...base, state: { waiting: {} }, lastState: ended(1) }];
  }
}

interface Case {
  readonly policy: 'Always' | 'OnFailure' | 'Never';
  readonly init?: readonly Word[];
  readonly sidecars?: readonly Word[];
  readonly containers: readonly Word[];
  readonly terminal?: boolean;
  readonly isStatic?: boolean;
  readonly phase: string;
}

const cases: readonly Case[] = [
  { policy: 'Always', containers: ['none'], phase: 'Pending' },
  { policy: 'Always', containers: ['waiting'], phase: 'Pending' },
  { policy: 'Always', containers: ['running', 'waiting'], phase: 'Pending' },
  { policy: 'Always', containers: ['running', 'running'], phase: 'Running' },
  { policy: 'Always', containers: ['running', 'none'], phase: 'Pending' },
  { policy: 'Always', containers: ['ok', 'failed'], phase: 'Running' },
  { policy: 'Always', containers: ['failing'], phase: 'Running' },
  { policy: 'Always', containers: ['ok', 'failed'], terminal: true, phase: 'Failed' },
  { policy: 'Always', containers: ['ok', 'ok'], terminal: true, phase: 'Succeeded' },
  { policy: 'Always', containers: ['ok'], terminal: true, isStatic: true, phase: 'Running' },
  { policy: 'OnFailure', containers: ['ok', 'ok'], phase: 'Succeeded' },
  { policy: 'OnFailure', containers: ['ok', 'failed'], phase: 'Running' },
  { policy: 'OnFailure', containers: ['ok', 'running'], phase: 'Running' },
  { policy: 'Never', containers: ['ok', 'ok'], phase: 'Succeeded' },
  { policy: 'Never', containers: ['ok', 'failed'], phase: 'Failed' },
  { policy: 'Never', containers: ['failed', 'running'], phase: 'Running' },
  { policy: 'Never', init: ['failed'], containers: ['waiting'], phase: 'Failed' },
  { policy: 'Always', init: ['failed'], containers: ['waiting'], phase: 'Pending' },
  { policy: 'Always', init: ['running'], containers: ['waiting'], phase: 'Pending' },
  { policy: 'Always', init: ['ok', 'none'], containers: ['waiting'], phase: 'Pending' },
  { policy: 'Always', init: ['ok'], containers: ['running'], phase: 'Running' },
  { policy: 'Always', sidecars: ['running'], containers: ['waiting'], phase: 'Pending' },
  { policy: 'Always', sidecars: ['started'], containers: ['running'], phase: 'Running' },
  { policy: 'Never', sidecars: ['ok'], containers: ['ok'], phase: 'Succeeded' },
  { policy: 'Never', sidecars: ['failed'], containers: ['ok'], terminal: true, phase: 'Succeeded' },
];

describe('phase', () => {
  for (const given of cases) {
    const { init = [], sidecars = [], containers } = given;
    it(JSON.stringify(given), () => {
      const pod: Pod = {
        metadata: given.isStatic === true ? { annotations: { 'kubernetes.io/config.source': 'file' } } : {},
        spec: {
          restartPolicy: given.policy,
          initContainers: [
            ...init.map((_word, index) => ({ name: `i${index}` })),
            ...sidecars.map((_word, index) => ({ name: `s${index}`, restartPolicy: 'Always' })),
          ],
          containers: containers.map((_word, index) => ({ name: `c${index}` })),
        },
      };
      const statuses = [
        ...init.flatMap((word, index) => statusOf(`i${index}`, word)),
        ...sidecars.flatMap((word, index) => statusOf(`s${index}`, word)),
        ...containers.flatMap((word, index) => statusOf(`c${index}`, word)),
      ];
      assert.equal(getPhase(pod, statuses, given.terminal === true), given.phase);
    });
  }
});
