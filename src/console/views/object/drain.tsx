/** The dialog for draining a node: the plan for each pod, then the progress. */
import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { ApiError } from '../../api/http.ts';
import type { Kind } from '../../api/kinds.ts';
import { listableKind } from '../../app/cluster-state.ts';
import { texts } from '../../app/texts.ts';
import { useLiveTable } from '../../parts/use-live-table.ts';
import type { ActionDialogProps } from './object-action.ts';
import { type DrainAction, drainAction, drainCommand, drainLosses, type DrainOptions } from './drain-plan.ts';
import { DrainRun } from './drain-run.ts';

type Phase = 'planned' | 'running' | 'stopped' | 'granted';

const { drain: words } = texts.object.actions;

export function Drain(props: ActionDialogProps) {
  const pods = listableKind('pods');
  return pods === undefined ? null : <DrainOf {...props} pods={pods} />;
}

function DrainOf({ of: ref, pods }: ActionDialogProps & { readonly pods: Kind }) {
  const table = useLiveTable(pods, { namespace: '', fieldSelector: `spec.nodeName=${ref.name}`, withObjects: true });
  void table.version.value; // the pods change with it
  const run = useMemo(() => new DrainRun(pods), []);
  useEffect(() => () => run.stop(), []);
  const options = useSignal<DrainOptions>({ deleteEmptyDir: false, force: false });
  const phase = useSignal<Phase>('planned');
  const problem = useSignal('');
  /** The pods at the start of the drain, which stay in the list after their deletion. */
  const begun = useSignal<readonly Stored<Pod>[]>([]);
  const present = table.rows.shown.map(({ object }) => object as Stored<Pod>);
  const shown = phase.value === 'planned' ? present : begun.value;
  const losses = drainLosses(present);
  const plan = shown.map((pod) => ({ pod, action: drainAction(pod, options.value) }));
  const blocked = plan.filter(({ action }) => action === 'emptyDir' || action === 'unmanaged').length;
  const here = new Set(present.map(({ metadata }) => metadata.uid));
  const leaving = plan.filter(({ action }) => action === 'evict').map(({ pod }) => pod.metadata);
  const failed = [...run.evictions.value.values()].some(({ state }) => state === 'failed');
  const left = leaving.filter(({ uid }) => here.has(uid)).length;
  const act = (event: Event): void => {
    event.preventDefault();
    begun.value = present;
    phase.value = 'running';
    run.start(ref, leaving).then(
      () => {
        if (phase.peek() === 'running') phase.value = 'granted';
      },
      (error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        phase.value = 'stopped';
        problem.value = error.message;
      },
    );
  };
  const stop = (): void => {
    run.stop();
    phase.value = 'stopped';
  };
  const planned = phase.value === 'planned';
  return (
    <form class="object-confirm" onSubmit={act}>
      <p>{words.explain}</p>
      {planned ? <Losses losses={losses} options={options} /> : null}
      <DrainList plan={plan} run={run} here={here} />
      <p class="dim">{texts.object.equals}</p>
      <pre class="mono">{drainCommand(ref.name, options.value)}</pre>
      {planned && blocked > 0 ? <p role="alert">{words.blocked(blocked)}</p> : null}
      {problem.value === '' ? null : <p role="alert">{problem.value}</p>}
      {planned ? (
        <button type="submit" class="object-destroys" disabled={blocked > 0 || table.state.value.kind !== 'live'}>
          {words.start}
        </button>
      ) : (
        <p role="status">{outcome(phase.value, { left, failed })}</p>
      )}
      {phase.value === 'running' ? (
        <button type="button" onClick={stop}>
          {words.stop}
        </button>
      ) : null}
    </form>
  );
}

function outcome(phase: Phase, { left, failed }: { readonly left: number; readonly failed: boolean }): string {
  if (phase === 'stopped') return words.stopped;
  if (phase === 'running' || (left > 0 && !failed)) return '';
  return failed ? words.failed : words.done;
}

interface LossesProps {
  readonly losses: ReturnType<typeof drainLosses>;
  readonly options: { value: DrainOptions };
}

function Losses({ losses: { emptyDir, unmanaged }, options }: LossesProps) {
  const box = (text: string, name: keyof DrainOptions) => (
    <label>
      <input
        type="checkbox"
        checked={options.value[name]}
        onChange={({ currentTarget }) => (options.value = { ...options.value, [name]: currentTarget.checked })}
      />
      {text}
    </label>
  );
  return (
    <>
      {unmanaged === 0 ? null : box(words.force(unmanaged), 'force')}
      {emptyDir === 0 ? null : box(words.deleteEmptyDir(emptyDir), 'deleteEmptyDir')}
    </>
  );
}

interface DrainListProps {
  readonly plan: readonly { readonly pod: Stored<Pod>; readonly action: DrainAction }[];
  readonly run: DrainRun;
  /** Uids of the pods that still exist. */
  readonly here: ReadonlySet<string>;
}

function DrainList({ plan, run, here }: DrainListProps) {
  if (plan.length === 0) return <p class="dim">{words.noPods}</p>;
  const stateOf = (uid: string, action: DrainAction): string => {
    const eviction = run.evictions.value.get(uid);
    if (eviction === undefined) return words.actions[action];
    if (!here.has(uid)) return words.states.gone;
    return `${words.states[eviction.state]} ${eviction.message}`.trimEnd();
  };
  return (
    <ul class="object-drain" aria-label={words.pods} tabIndex={0}>
      {plan.map(({ pod: { metadata }, action }) => (
        <li key={metadata.uid}>
          <span class="mono">{`${metadata.namespace}/${metadata.name}`}</span>
          <span class="dim">{stateOf(metadata.uid, action)}</span>
        </li>
      ))}
    </ul>
  );
}
