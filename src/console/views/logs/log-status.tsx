/** The line below the logs: how many lines there are, how many were given up, and what is the matter with each log. */
import { numberText, texts } from '../../app/texts.ts';
import type { LogState } from './container-log.ts';
import { MOST_LINES } from './log-buffer.ts';
import type { LogStore } from './log-store.ts';
import { MOST_PODS } from './workload-logs.ts';

export function LogStatus({ store }: { readonly store: LogStore }) {
  const { logs: words } = texts;
  void store.version.value;
  const { length, dropped } = store.buffer;
  const sources = store.sources.value;
  const pods = store.podCount.value;
  // Logs of several pods often say the same.
  const texted = new Map(
    store.states.value.map((state, index) => [
      stateText(state, sources.length < 2 ? '' : `${sources[index]?.container ?? ''}: `),
      state?.kind === 'refused',
    ]),
  );
  return (
    <footer class="logs-status">
      <span>{words.count(length)}</span>
      <span title={words.bounded(MOST_LINES)}>
        {dropped === 0 ? words.bounded(MOST_LINES) : words.dropped(dropped)}
      </span>
      {pods > MOST_PODS ? <span class="logs-trouble">{words.somePods(MOST_PODS, pods)}</span> : null}
      <span aria-live="polite">
        {[...texted].map(([text, isTrouble]) => (
          <span key={text} class={isTrouble ? 'logs-trouble' : ''}>
            {text}
          </span>
        ))}
      </span>
      {store.problems.value.map((message) => (
        <span key={message} role="alert">
          {message}
        </span>
      ))}
    </footer>
  );
}

/** Logs that are followed say so only when they are alone. */
function stateText(state: LogState | undefined, name: string): string {
  const { states } = texts.logs;
  if (state === undefined) return '';
  if (!('message' in state)) return name === '' ? states[state.kind] : '';
  return state.kind === 'waiting' ? `${name}${states.waiting(state.message)} ` : `${name}${state.message} `;
}

/** For the search: how many lines match, and at which one the reader is. */
export function matchText(found: number, position: number): string {
  return position < 0 ? texts.logs.matches(found) : `${numberText(position + 1)}/${numberText(found)}`;
}
