/**
 * Network policies: which workloads can reach which, and the policy that decides for a pair of pods. The server computes it by
 * the rules that it programs.
 */
import { useMemo } from 'preact/hooks';
import type { Kind } from '../../api/kinds.ts';
import type { ReachTable } from '../../../api/reach.ts';
import { type PodPlace, readReachTable } from '../../api/reach.ts';
import { momentMs } from '../../app/moment.ts';
import { namespace, setParams } from '../../app/router.ts';
import { texts } from '../../app/texts.ts';
import { parseFilter } from '../../parts/filter.ts';
import { usePolled } from '../../parts/use-polled.ts';
import { ReachGrid } from './reach-grid.tsx';
import { WhatIf } from './what-if.tsx';

const PERIOD_MS = 10_000;

interface PoliciesTabProps {
  readonly params: URLSearchParams;
  readonly pods: Kind;
}

export function PoliciesTab(props: PoliciesTabProps) {
  return momentMs.value === undefined ? <Policies {...props} /> : <p class="notice">{texts.time.partOnly}</p>;
}

function Policies({ params, pods }: PoliciesTabProps) {
  const filterText = params.get('q') ?? '';
  const { labelSelector } = useMemo(() => parseFilter(filterText), [filterText]);
  const where = namespace.value;
  const { answer, error } = usePolled({
    key: `${where} ${labelSelector}`,
    periodMs: PERIOD_MS,
    ask: (signal) => readReachTable(pods, { namespace: where, labelSelector }, signal),
  });
  const choose = (from: PodPlace, to: PodPlace): void => setParams({ from: placeText(from), to: placeText(to) });
  return (
    <div class="topology-policies">
      <WhatIf
        params={params}
        pods={pods}
        suggestions={(answer?.groups ?? []).map(({ namespace: ns, pod }) => `${ns}/${pod}`)}
      />
      <section aria-label={texts.topology.policies.table}>
        <div class="topology-title">
          <h2>{texts.topology.policies.table}</h2>
          <input
            class="mono grow"
            type="search"
            aria-label={texts.list.filterLabel}
            placeholder="-l app=web"
            spellcheck={false}
            value={filterText}
            onInput={({ currentTarget }) => setParams({ q: currentTarget.value })}
          />
        </div>
        {error === undefined ? null : <p role="alert">{error.message}</p>}
        {answer === undefined ? (
          error === undefined ? (
            <p class="dim">{texts.shell.loading}</p>
          ) : null
        ) : answer.groups.length === 0 ? (
          <p class="dim">{texts.topology.policies.noPods}</p>
        ) : (
          <>
            <ReachGrid table={answer} onChoose={choose} showsNamespaces={where === ''} />
            <LeftOut table={answer} />
          </>
        )}
      </section>
    </div>
  );
}

function placeText({ namespace: ns, name }: PodPlace): string {
  return `${ns}/${name}`;
}

function LeftOut({ table: { groupsNotShown, podsNotRead, hostNetworkPods } }: { readonly table: ReachTable }) {
  const { policies: words } = texts.topology;
  const lines = [
    ...(groupsNotShown > 0 ? [words.groupsLeft(groupsNotShown)] : []),
    ...(podsNotRead > 0 ? [words.podsLeft(podsNotRead)] : []),
    ...(hostNetworkPods > 0 ? [words.hostNetwork(hostNetworkPods)] : []),
  ];
  return (
    <>
      {lines.map((line) => (
        <p key={line} class="dim">
          {line}
        </p>
      ))}
    </>
  );
}
