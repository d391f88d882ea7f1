/** A shell in a container of a pod, or the terminal of its own process. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { type ObjectRef, objectPath } from '../../api/kinds.ts';
import { kindNamed, kinds } from '../../app/cluster-state.ts';
import { objectOf } from '../../app/hrefs.ts';
import { texts } from '../../app/texts.ts';
import { useMayDo } from '../../parts/access.ts';
import { ObjectHeader } from '../../parts/object-header.tsx';
import { ObjectTrouble } from '../../parts/object-trouble.tsx';
import { useObject } from '../../parts/use-object.ts';
import type { ViewProps } from '../contract.ts';
import { type Chosen, NOTHING_CHOSEN, type ShellChoice, shellChoiceOf } from './choice.ts';
import { ShellBar } from './shell-bar.tsx';
import { type SessionState, useSession } from './use-session.ts';

export function View({ route }: ViewProps) {
  if (kinds.value.length === 0) return <p class="notice">{texts.shell.loading}</p>;
  const ref = objectOf(route, kindNamed);
  if (ref === undefined) return <p class="notice">{texts.shell.noView}</p>;
  return <PodShell key={objectPath(ref)} of={ref} params={route.params} />;
}

function PodShell({ of: ref, params }: { readonly of: ObjectRef; readonly params: URLSearchParams }) {
  const state = useObject(ref);
  const { object } = state;
  const mayDo = useMayDo(ref);
  const mayAttach = ['get', 'create'].every((verb) => mayDo({ verb, resource: 'pods', subresource: 'attach' }));
  const mayExec = ['get', 'create'].every((verb) => mayDo({ verb, resource: 'pods', subresource: 'exec' }));
  const chosen = useSignal(NOTHING_CHOSEN);
  const choose = (part: Partial<Chosen>): void => void (chosen.value = { ...chosen.value, ...part });
  const choice =
    object === undefined ? undefined : shellChoiceOf(object as Pod, params, { mayAttach, chosen: chosen.value });
  return (
    <section class="shell-view">
      <ObjectHeader of={ref} mayDo={mayDo} title={texts.terminal.title} />
      <ObjectTrouble state={state} />
      {mayExec || mayAttach || choice === undefined ? null : <p class="notice">{texts.terminal.mayNot}</p>}
      {choice === undefined || (choice.mode === 'exec' && !mayExec) ? null : (
        <Session
          key={`${choice.container} ${choice.mode} ${choice.command}`}
          of={ref}
          choice={choice}
          choose={choose}
        />
      )}
    </section>
  );
}

interface SessionProps {
  readonly of: ObjectRef;
  readonly choice: ShellChoice;
  choose(part: Partial<Chosen>): void;
}

function Session({ of: ref, choice, choose }: SessionProps) {
  const host = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const screenReader = useSignal(false);
  const leave = (): void => bar.current?.querySelector<HTMLElement>('select, button')?.focus();
  const { state, skipped, open, end, setScreenReader } = useSession({ pod: ref, choice, host, leave });
  useEffect(() => setScreenReader(screenReader.value), [screenReader.value]);
  return (
    <>
      <ShellBar bar={bar} choice={choice} choose={choose} screenReader={screenReader}>
        {state.kind === 'ended' ? (
          <button type="button" class="primary" onClick={open}>
            {texts.terminal.open}
          </button>
        ) : (
          <button type="button" onClick={end}>
            {texts.terminal.end}
          </button>
        )}
      </ShellBar>
      <div class="shell-terminal takes-keys" ref={host} />
      <footer class="shell-status">
        <span role="status">{stateText(state, choice)}</span>
        {skipped === 0 ? null : <span>{texts.terminal.skipped(skipped)}</span>}
        {state.kind === 'ended' ? <span>{texts.terminal.again}</span> : null}
        <span>{texts.terminal.leave}</span>
      </footer>
    </>
  );
}

function stateText(state: SessionState, { container }: ShellChoice): string {
  const { states } = texts.terminal;
  if (state.kind !== 'ended') return states[state.kind];
  const { end } = state;
  if (end.kind === 'exit') return states.exit(end.code);
  if (end.kind === 'noCommand') return states.noShell(container);
  if (end.kind === 'lost') return states.lost(end.reason);
  return end.kind === 'failed' ? end.message : states.ended;
}
