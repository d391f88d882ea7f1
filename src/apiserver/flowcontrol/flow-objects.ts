/**
 * Keeps a flow controller in line with the stored configuration, writes each schema's condition `Dangling`, and
 * restores the mandatory objects. Upstream: util/flowcontrol/apf_controller.go and the
 * priority-and-fairness-config-producer hook.
 *
 * Changes take effect in the next microtask; conditions are written a moment later, several at once. Changed
 * mandatory objects are restored after a minute, so that two versions of a server do not undo each other's changes
 * endlessly.
 */
import type { Stored } from '../../api/object.ts';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import { FlowSchemas, PriorityLevelConfigurations } from '../../api/gen/resources.ts';
import { StatusError } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { ensureFlowObjects } from '../bootstrap/flow-objects.ts';
import type { ObjectStore } from '../registry/object-store.ts';
import { flowConfigurationOf } from './configuration.ts';
import { danglingCondition } from './dangling-condition.ts';
import type { FlowController } from './flow-controller.ts';

const STATUS_DELAY_MS = 200;
const RETRY_DELAY_MS = 10_000;
const ENSURE_DELAY_MS = 60_000;

export interface FlowObjectsDeps {
  readonly objects: ObjectStore;
  readonly controller: FlowController;
  readonly clock: Clock;
  readonly log: Log;
}

/** Follows the objects; call after the caches are filled. The result stops it. */
export function followFlowObjects(deps: FlowObjectsDeps): () => void {
  const { objects, controller, clock, log } = deps;
  const schemas = new Map<string, FlowSchema>();
  const levels = new Map<string, PriorityLevelConfiguration>();
  let stopped = false;
  let pending = false;
  const guarded = (work: () => Promise<void>, again: () => void) => (): void => {
    work().catch((error: unknown) => {
      if (stopped) return;
      log.error('cannot keep flow schemas and priority levels', { err: error });
      again();
    });
  };
  const status = createDelayedRun(clock, () =>
    guarded(
      () => writeConditions(deps, schemas, levels),
      () => status.in(RETRY_DELAY_MS),
    )(),
  );
  const ensure = createDelayedRun(clock, () =>
    guarded(
      () => ensureFlowObjects(objects, clock.nowMs()),
      () => ensure.in(ENSURE_DELAY_MS),
    )(),
  );
  const changed = (): void => {
    if (pending) return;
    pending = true;
    queueMicrotask(() => {
      pending = false;
      if (stopped) return;
      controller.configure(flowConfigurationOf(schemas.values(), levels.values()));
      status.in(STATUS_DELAY_MS);
      ensure.in(ENSURE_DELAY_MS);
    });
  };
  const follow =
    <T extends FlowSchema | PriorityLevelConfiguration>(map: Map<string, T>) =>
    (now: Stored<T> | undefined, old: Stored<T> | undefined): void => {
      if (now !== undefined) map.set(now.metadata.name, now);
      else map.delete(old?.metadata.name ?? '');
      changed();
    };
  const stops = [
    objects.onChange(FlowSchemas, follow(schemas)),
    objects.onChange(PriorityLevelConfigurations, follow(levels)),
    status.cancel,
    ensure.cancel,
  ];
  return () => {
    stopped = true;
    for (const stop of stops) stop();
  };
}

interface DelayedRun {
  /** Schedules a run after this time, unless one is scheduled already. */
  in(delayMs: number): void;
  readonly cancel: () => void;
}

function createDelayedRun(clock: Clock, run: () => void): DelayedRun {
  let cancel: (() => void) | undefined;
  return {
    in(delayMs) {
      cancel ??= clock.setTimer(delayMs, () => {
        cancel = undefined;
        run();
      });
    },
    cancel() {
      cancel?.();
      cancel = undefined;
    },
  };
}

async function writeConditions(
  { objects, clock }: FlowObjectsDeps,
  schemas: ReadonlyMap<string, FlowSchema>,
  levels: ReadonlyMap<string, PriorityLevelConfiguration>,
): Promise<void> {
  const wrong = [...schemas].filter(([, schema]) => withCondition(schema, levels, clock.nowMs()) !== undefined);
  const failures: unknown[] = [];
  // One after the other, since each may be large. A failed write does not stop the others.
  for (const [name] of wrong) {
    const change = (now: FlowSchema): FlowSchema | undefined => withCondition(now, levels, clock.nowMs());
    try {
      await objects.guaranteedUpdate(FlowSchemas, '', name, change);
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 404) failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** The schema with the correct condition; undefined when it is unchanged. */
function withCondition(
  schema: FlowSchema,
  levels: { has(name: string): boolean },
  nowMs: number,
): FlowSchema | undefined {
  const wanted = danglingCondition(schema, levels);
  const conditions = schema.status?.conditions ?? [];
  const old = conditions.find(({ type }) => type === 'Dangling');
  if (old !== undefined && old.reason === wanted.reason && old.message === wanted.message) return undefined;
  const since = old?.status === wanted.status ? old?.lastTransitionTime : undefined;
  const next = { lastTransitionTime: since ?? formatTime(nowMs), ...wanted };
  const others = conditions.filter(({ type }) => type !== 'Dangling');
  return { ...schema, status: { ...schema.status, conditions: [...others, next] } };
}
