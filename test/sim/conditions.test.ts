/**
 * Every condition that a component of Keelson writes has a reason and a message, and its transition time changes only with its
 * status: in every state of every object of the scenarios. What people write is theirs.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { RevisionCell } from '../../src/apiserver/watch-cache/revision-cell.ts';
import type { HistoryBatch, HistoryStatus } from '../../src/storage/history-log.ts';
import type { HistoryRecord } from '../../src/storage/history-record.ts';
import { playScenario } from '../../src/testing/scenario-run.ts';
import { parseScenario } from '../../src/testing/scenario.ts';
import { Timeline } from '../../src/testing/timeline/timeline.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** The form that the API demands of reasons (metav1.Condition). */
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const PEOPLE = 'keelson-testing';
/** Autoscalers take any other reason for a failure; [differences.md](../../docs/differences.md#conditions). */
const BARE = 'Pod PodResizeInProgress';

/** What components write in the scenarios. */
const WRITTEN: Readonly<Record<string, readonly string[]>> = {
  APIService: ['Available'],
  CustomResourceDefinition: ['Established', 'KubernetesAPIApprovalPolicyConformant', 'NamesAccepted', 'Terminating'],
  Deployment: ['Available', 'Progressing', 'ReplicaFailure'],
  FlowSchema: ['Dangling'],
  HorizontalPodAutoscaler: ['AbleToScale', 'ScalingActive', 'ScalingLimited'],
  Job: ['Complete', 'Failed', 'FailureTarget', 'SuccessCriteriaMet', 'Suspended'],
  Namespace: [
    'NamespaceContentRemaining',
    'NamespaceDeletionContentFailure',
    'NamespaceDeletionDiscoveryFailure',
    'NamespaceDeletionGroupVersionParsingFailure',
    'NamespaceFinalizersRemaining',
  ],
  Node: ['DiskPressure', 'MemoryPressure', 'PIDPressure', 'Ready'],
  Pod: [
    'ContainersReady',
    'DisruptionTarget',
    'Initialized',
    'PodReadyToStartContainers',
    'PodResizeInProgress',
    'PodResizePending',
    'PodScheduled',
    'Ready',
  ],
  PodDisruptionBudget: ['DisruptionAllowed'],
  ReplicaSet: ['ReplicaFailure'],
  ReplicationController: ['ReplicaFailure'],
  ServiceCIDR: ['Ready'],
};

/** Checks each state as it is recorded. */
class ConditionLog extends Timeline {
  readonly seen = new Set<string>();
  readonly faults = new Set<string>();
  readonly #before = new Map<string, ReadonlyMap<string, Condition>>();

  override append(batch: HistoryBatch): Promise<HistoryStatus> {
    for (const record of batch.records.objects ?? []) this.#check(record);
    return super.append(batch);
  }

  #check({ key, revision, change, author, value }: HistoryRecord): void {
    const before = this.#before.get(key);
    this.#before.delete(key);
    if (change === 'deleted') return;
    const { kind = '', status } = new RevisionCell(key, revision, value).object() as {
      readonly kind?: string;
      readonly status?: { readonly conditions?: readonly Condition[] };
    };
    const conditions = Array.isArray(status?.conditions) ? status.conditions : [];
    this.#before.set(key, new Map(conditions.map((condition) => [condition.type, condition])));
    if (author?.manager === PEOPLE) return;
    for (const condition of conditions)
      this.#checkOne(`${kind} ${condition.type}`, condition, before?.get(condition.type));
  }

  #checkOne(name: string, condition: Condition, before: Condition | undefined): void {
    if (JSON.stringify(condition) === JSON.stringify(before)) return;
    this.seen.add(name);
    const { status, reason = '', message = '', lastTransitionTime } = condition;
    if (name !== BARE && (!REASON.test(reason) || message.trim() === ''))
      this.faults.add(`${name} is ${status} with reason '${reason}' and message '${message}'`);
    if (before?.status === status && before.lastTransitionTime !== lastTransitionTime)
      this.faults.add(`${name} stays ${status} (${before.reason}, ${reason}), and its transition time changes`);
  }
}

describe('conditions of the scenarios', () => {
  const seen = new Set<string>();
  for (const file of globSync(['conditions.yaml', 'why/*.yaml'], { cwd: import.meta.dirname }).sort())
    it(`have reason and message: ${basename(file, '.yaml')}`, async () => {
      const scenario = parseScenario(readFileSync(join(import.meta.dirname, file), 'utf8'));
      const log = new ConditionLog();
      const { cluster, outcome } = await playScenario(scenario, 1, { cluster: { history: () => log } });
      await cluster?.stop();
      if ('cause' in outcome) throw outcome.cause;
      assert.deepEqual([...log.faults], []);
      for (const name of log.seen) seen.add(name);
    });

  it('are those of all kinds', () => {
    const written = Object.entries(WRITTEN).flatMap(([kind, types]) => types.map((type) => `${kind} ${type}`));
    assert.deepEqual([...seen].sort(), written.sort());
  });
});
