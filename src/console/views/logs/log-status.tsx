/** The line below the logs: the number of lines, the number of dropped lines, and the state of each log. */
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
  // Logs of several pods often have the same text.
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

/** The text of a followed log is shown only when it is the only one. */
function stateText(state: LogState | undefined, name: string): string {
  const { states } = texts.logs;
  if (state === undefined) return '';
  if (!('message' in state)) return name === '' ? states[state.kind] : '';
  return state.kind === 'waiting' ? `${name}${states.waiting(state.message)} ` : `${name}${state.message} `;
}

/** The number of matching lines, and the index of the selected match. */
export function matchText(found: number, position: number): string {
  return position < 0 ? texts.logs.matches(found) : `${numberText(position + 1)}/${numberText(found)}`;
}
