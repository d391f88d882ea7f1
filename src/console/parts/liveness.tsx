/** Shows whether a list is live, or why it is not. */
import type { ListState } from '../api/table-list.ts';
import { texts } from '../app/texts.ts';

export function Liveness({ state }: { readonly state: Exclude<ListState, { readonly kind: 'refused' }> }) {
  const { kind } = state;
  return (
    <>
      {kind === 'past' && state.warning !== '' ? <span class="dim">{texts.time.withoutGone}</span> : null}
      <span class={`liveness ${kind}`} title={kind === 'retrying' ? state.error : ''}>
        {texts.list[kind]}
      </span>
    </>
  );
}
