/** The filter above a diagram, and whether its list is live. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { bindKeys } from '../../app/keyboard.ts';
import { setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import type { LiveTable } from '../../parts/live-table.ts';
import { Liveness } from '../../parts/liveness.tsx';

interface FlowBarProps {
  readonly table: LiveTable;
  readonly filterText: string;
  readonly children?: ComponentChildren;
}

export function FlowBar({ table, filterText, children }: FlowBarProps) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => bindKeys([{ key: '/', label: texts.keys.filter, run: () => field.current?.select() }]), []);
  const state = table.state.value;
  return (
    <div class="topology-bar">
      <input
        ref={field}
        class="mono grow"
        type="search"
        aria-label={texts.list.filterLabel}
        placeholder={texts.topology.words}
        spellcheck={false}
        value={filterText}
        onInput={({ currentTarget }) => setParams({ q: currentTarget.value })}
      />
      {children}
      {state.kind === 'refused' ? (
        <span role="alert">{state.error.message}</span>
      ) : (
        <span class="status" role="status">
          <Liveness state={state} />
        </span>
      )}
    </div>
  );
}
